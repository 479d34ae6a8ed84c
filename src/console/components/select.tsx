/** @jsxImportSource hono/jsx */
interface Option {
  readonly value: string;
  readonly text: string;
}

interface SelectProps {
  readonly name: string;
  readonly label: string;
  /** A string is both the value and the text. */
  readonly options: readonly (string | Option)[];
  readonly selected: string | undefined;
}

/**
 * A labeled drop-down. A selected value that isn't among the options is added, so that it stays
 * visible.
 */
export function Select({ name, label, options, selected }: SelectProps) {
  const all = options.map((option) => (typeof option === "string" ? { value: option, text: option } : option));
  if (selected !== undefined && !all.some(({ value }) => value === selected)) {
    all.push({ value: selected, text: selected });
  }
  return (
    <label>
      <span>{label}</span>
      <select name={name}>
        {all.map(({ value, text }) => (
          <option value={value} selected={value === selected}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
