// Starts reveal.js. Keys: arrows and space move, S opens the presenter view, O the overview, F full screen, B blanks.
// "?view=print" in the address lays the deck out for printing: a handout with a page for each slide, builds at their
// end; "?view=print&pdfSeparateFragments=true" has a page for each step, "?view=print&answers=no" none for the answers
// to questions, "?view=print&showNotes=separate-page" one for each slide's notes behind it.
if (new URLSearchParams(location.search).get("answers") === "no")
  document.querySelectorAll(".reveal section.answer").forEach(slide => slide.remove());
Reveal.initialize({
  width: 1280,
  height: 720,
  margin: 0,
  center: false,
  hash: true,
  controls: false,
  slideNumber: "c/t",
  transition: "none",
  backgroundTransition: "none",
  pdfSeparateFragments: false,
  defaultTiming: 60, // switches the presenter view's pacing clock on; each slide has its own time
  plugins: [RevealNotes],
});
document.documentElement.classList.toggle("handout", !Reveal.getConfig().pdfSeparateFragments);
// reveal.js reads a slide out as soon as it comes, and with it every frame that is not hidden from screen readers.
const SHOWN = ".fade-out:not(.visible), .current-visible.current-fragment, .fade-in.visible";
for (const event of ["ready", "slidechanged", "fragmentshown", "fragmenthidden", "pdf-ready"])
  Reveal.on(event, () => {
    document.querySelectorAll(".frame").forEach(frame => frame.setAttribute("aria-hidden", !frame.matches(SHOWN)));
  });
Reveal.on("pdf-ready", () => {
  // reveal.js hides all slides but the first from screen readers, on paper too: the PDF would have tags for that one only
  document.querySelectorAll(".pdf-page section").forEach(slide => slide.removeAttribute("aria-hidden"));
  document.querySelectorAll(".pdf-page section").forEach(slide => slide.removeAttribute("hidden"));
});
