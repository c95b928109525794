// Every text of a page: its contrast with what stands behind it, by WCAG 2.1, and how it begins.
(() => {
  const light = (text) => {
    const part = text.match(/[\d.]+/g).slice(0, 3).map((one) => {
      const share = one / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
  };
  const ratio = (a, b) => {
    const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const found = getComputedStyle(node).backgroundColor;
      if (!/, 0\)$/.test(found)) return found;
    }
    return "rgb(255, 255, 255)";
  };
  const said = (node) => `${node.tagName} ${node.textContent.slice(0, 40)}`;
  const texts = [...document.querySelectorAll("h1, h2, h3, h4, p, th, td, li, summary, a, .key, figcaption")];
  const cells = [...document.querySelectorAll(".map g[tabindex]")];
  return [
    ...texts.filter((one) => one.textContent.trim()).map((one) => [ratio(getComputedStyle(one).color, ground(one)), said(one)]),
    ...cells.map((cell) => {
      const [text, rect] = ["text", "rect"].map((tag) => getComputedStyle(cell.querySelector(tag)).fill);
      return [ratio(text, rect), said(cell)];
    }),
  ];
})()
