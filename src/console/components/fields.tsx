/** @jsxImportSource hono/jsx */
import type { Child, JSX } from "hono/jsx";
import type { PageRequest } from "../../http/page.ts";
import { queryParameter } from "../urls.ts";

const dayAfter = (day: string) => new Date(Date.parse(day) + 86_400_000).toISOString();

export type Days = ReturnType<typeof parseDays>;

/** Days in UTC, as the query parameters `from` and `to` name them: `2026-03-08`. */
export function parseDays(request: PageRequest) {
  const [firstDay, lastDay] = [dayOf(queryParameter(request, "from")), dayOf(queryParameter(request, "to"))];
  return {
    firstDay,
    lastDay,
    /** Inclusive; ISO 8601 in UTC. */
    from: firstDay && `${firstDay}T00:00:00.000Z`,
    /** Exclusive. The year 10000 would sort before all others. */
    until: lastDay === undefined || lastDay === "9999-12-31" ? undefined : dayAfter(lastDay),
  };
}

/** Undefined for anything but an existing day: a date may also be parsed from `2026-02-31`. */
function dayOf(text = ""): string | undefined {
  const day = /^\d{4}-\d\d-\d\d$/.test(text) ? new Date(text) : undefined;
  const exists = day !== undefined && !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
  return exists ? text : undefined;
}

export const DayFields = ({ days: { firstDay, lastDay } }: { readonly days: Days }) => (
  <>
    <label>
      <span>First day (UTC)</span>
      <input type="date" name="from" value={firstDay ?? ""} />
    </label>
    <label>
      <span>Last day (UTC)</span>
      <input type="date" name="to" value={lastDay ?? ""} />
    </label>
  </>
);

interface SelectProps {
  readonly name: string;
  readonly label: string;
  /** A string is both the value and the text. */
  readonly options: readonly (string | { readonly value: string; readonly text: string })[];
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

type TextFieldProps = JSX.IntrinsicElements["input"] & { readonly label: Child };

/** A labeled field for names and codes, which browsers must neither complete nor correct. */
export const TextField = ({ label, value = "", class: className, ...attributes }: TextFieldProps) => (
  <label class={className}>
    <span>{label}</span>
    <input {...attributes} value={value} autocomplete="off" spellcheck={false} />
  </label>
);

interface FilterFormProps {
  readonly action: string;
  readonly hasFilters: boolean;
  readonly children?: Child;
}

/** Collapsed on a phone, where it would fill the first screen, unless a filter is set. */
export const FilterForm = ({ action, hasFilters, children }: FilterFormProps) => (
  <details class="filters" open={hasFilters}>
    <summary>Filter</summary>
    <form class="filter" action={action}>
      {children}
      <button type="submit" class="primary">
        Filter
      </button>
    </form>
  </details>
);
