// Looks at the slide on screen as the last row would; returns a JSON list of what is wrong with it.
(width, height, leastText, leastContrast) => {
  const slide = Reveal.getCurrentSlide();
  const scale = Reveal.getScale();
  const wrong = [];
  const isShown = element => {
    if (element.closest("aside, title, desc, defs")) return false;
    for (let each = element; each && each !== slide.parentElement; each = each.parentElement) {
      const style = getComputedStyle(each);
      if (style.display === "none" || style.visibility === "hidden" || Number(style.opacity) === 0) return false;
    }
    return true;
  };
  const words = text => text.trim().replace(/\s+/g, " ").slice(0, 50);

  // every piece of text with its box, its size on screen and its colour
  const texts = [];
  const walker = document.createTreeWalker(slide, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.data.trim() || !isShown(node.parentElement)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const element = node.parentElement;
    const drawn = element.closest("svg");
    const style = getComputedStyle(element);
    const matrix = drawn ? element.getScreenCTM() : null;
    const growth = matrix ? Math.hypot(matrix.a, matrix.b) : scale;
    texts.push({ node, element, drawn, style, size: parseFloat(style.fontSize) * growth, boxes: [...range.getClientRects()] });
  }

  // what a figure's viewBox covers on screen: its element may be wider
  const paper = svg => {
    const [matrix, view] = [svg.getScreenCTM(), svg.viewBox.baseVal];
    const [left, top] = [matrix.e + matrix.a * view.x, matrix.f + matrix.d * view.y];
    return { left, top, right: left + matrix.a * view.width, bottom: top + matrix.d * view.height };
  };

  const luminance = colour => {
    const linear = colour.slice(0, 3).map(c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const parse = colour => (colour.match(/[\d.]+/g) || []).map(Number);
  const behind = element => {
    for (let each = element; each; each = each.parentElement) {
      const colour = parse(getComputedStyle(each).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  for (const { node, element, drawn, style, size, boxes } of texts) {
    if (size < leastText - 0.1) wrong.push(`text of ${size.toFixed(1)} px: ${words(node.data)}`);
    for (const box of boxes) {
      if (box.left < -1 || box.top < -1 || box.right > width + 1 || box.bottom > height + 1)
        wrong.push(`off the slide: ${words(node.data)}`);
      const frame = drawn ? paper(drawn) : (element.closest("pre, .column") || slide).getBoundingClientRect();
      if (box.right > frame.right + 2 || box.left < frame.left - 2 || box.bottom > frame.bottom + 2)
        wrong.push(`outside its frame: ${words(node.data)}`);
    }
    if (!drawn && !element.closest(".faded")) {
      const [one, other] = [luminance(parse(style.color)), luminance(behind(element))].sort((a, b) => b - a);
      const contrast = (one + 0.05) / (other + 0.05);
      if (contrast < leastContrast) wrong.push(`contrast ${contrast.toFixed(1)}: ${words(node.data)}`);
    }
  }

  // text on text, in a figure or between the parts of a slide
  const corners = texts.flatMap(({ node, element, drawn, size, boxes }) =>
    boxes.map(box => ({ words: words(node.data), element, drawn, box, slack: size * 0.22 })));
  for (let i = 0; i < corners.length; i++)
    for (let j = i + 1; j < corners.length; j++) {
      const [a, b] = [corners[i], corners[j]];
      const across = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
      const down = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
      if (a.element.closest("pre, p, li, table") !== null && a.element.closest("pre, p, li, table") === b.element.closest("pre, p, li, table")) continue;
      if (across > 2 && down > Math.max(a.slack, b.slack)) wrong.push(`"${a.words}" lies on "${b.words}"`);
    }

  // parts of a column below each other
  for (const column of slide.querySelectorAll(".column")) {
    const parts = [...column.children].filter(isShown).map(each => each.getBoundingClientRect());
    for (let i = 1; i < parts.length; i++)
      if (parts[i].top < parts[i - 1].bottom - 2) wrong.push(`part ${i + 1} lies on part ${i}`);
    const last = parts[parts.length - 1];
    if (last && last.bottom > height - 8) wrong.push(`content ends at ${last.bottom.toFixed(0)} of ${height} px`);
  }
  return JSON.stringify([...new Set(wrong)]);
}
