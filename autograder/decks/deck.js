// Starts reveal.js. Keys: arrows and space move, S opens the presenter view, O the overview, F full screen, B blanks.
// "?view=print" in the address lays every step out as a page, for printing to PDF.
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
  pdfSeparateFragments: true,
  plugins: [RevealNotes],
});
