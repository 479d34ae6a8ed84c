// Three queries, combined in code, as such an endpoint is usually written by hand.

const number = (text) => Number(text);

/** The personalization of a SKU in display order; three empty lists if there is none. */
export async function findPersonalization(pool, sku) {
  const { rows: pzlines } = await pool.query(
    "SELECT sku_id, style_code, style_display_seq, style_sku_status FROM pzlines WHERE sku_id = $1",
    [sku],
  );
  if (pzlines.length === 0) return { pzlines, pzstyles: [], pzchoices: [] };
  pzlines.sort((a, b) => number(a.style_display_seq) - number(b.style_display_seq));

  const codes = pzlines.map((line) => line.style_code);
  const { rows: pzstyles } = await pool.query(
    `SELECT style_code, line_status, line_display_seq, choice_type, instruct_text
     FROM pzstyles WHERE style_code = ANY($1)`,
    [codes],
  );
  pzstyles.sort(
    (a, b) =>
      codes.indexOf(a.style_code) - codes.indexOf(b.style_code) ||
      number(a.line_display_seq) - number(b.line_display_seq),
  );

  const types = [...new Set(pzstyles.map((style) => style.choice_type))];
  const { rows: pzchoices } = await pool.query(
    `SELECT choice_type, choice_status, choice_display_seq, choice_value
     FROM pzchoices WHERE choice_type = ANY($1)`,
    [types],
  );
  pzchoices.sort(
    (a, b) =>
      types.indexOf(a.choice_type) - types.indexOf(b.choice_type) ||
      number(a.choice_display_seq) - number(b.choice_display_seq),
  );
  return { pzlines, pzstyles, pzchoices };
}

/** The newest ten finished runs. */
export async function findHistories(pool, order) {
  const { rows } = await pool.query(
    "SELECT brand, counts, created_at FROM histories ORDER BY created_at DESC, id DESC LIMIT 10",
  );
  const histories = rows.map(({ brand, counts, created_at }) => ({
    brand,
    counts,
    created_at: created_at.toISOString().replace(/\.\d+Z$/, "Z"),
  }));
  return { histories: order === "asc" ? histories.reverse() : histories };
}
