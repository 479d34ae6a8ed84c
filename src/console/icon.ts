/** The colors are visible on light and dark tabs. The red icon also differs in shape. */
const draw = (color: string, path: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="${color}"/><path d="${path}" stroke="#fff" stroke-width="2"/></svg>\n`;

export const icon = draw("#3e63dd", "M4 5h8M4 8h8M4 11h5");
export const alertIcon = draw("#e5484d", "M8 3v6M8 11v2");
