"""A `Result` in, something people read out: terminal text, HTML, JSON, a gradebook, a class page. All pure functions.

START HERE: `terminal.render` is the shortest; `html.render` (a student's page), `html.fragment` (a notebook's output)
and `class_page.render` (the instructor's page) fill the Jinja2 templates beside them. `speed` and `attention` hold what
every form says alike: the verdict on speed, the next step, and who needs a look.
`misconceptions` counts hints over a class, `alike` compares its programs, `by_hand` puts in what an
instructor decided, `late` what lateness costs by the dates that a platform gives.
`handing_back` makes what platforms take: filled-in gradebooks and, in `feedback`, the reports themselves. `columns` is
the one list of what tables of source lines show; `source_heat` draws them in HTML, `source_text` in a terminal.
`wording` turns values into words, and is also where text that a student controls is made safe to show.
"""
