import type { JSX } from 'preact';
import { addDays, dayFromToday, daysBetween, dayOf, instantOf, isDay, monthFromNow, t } from '../format.js';
import { address, useOnce } from '../hooks.js';
import { InputError, Problem, save } from '../ui.js';

/** Days as in the API and in addresses: the first is included, `to` is the day after the last one. */
export interface Days {
  from: string;
  to: string;
}

/** @returns the day before one, for people, who name the last one */
const dayBefore = (day: string): string => (isDay(day) ? addDays(day, -1) : '');

/** @returns when a day begins */
export const startOf = (day: string): string => instantOf(`${day}T00:00`);

/** @param text a day or an instant, as addresses have it @returns the day */
export const asDay = (text: string): string =>
  isDay(text) || Number.isNaN(Date.parse(text)) ? text : dayOf(new Date(text));

/** @returns why a report of these days cannot be asked for, or undefined */
export function refusalOf({ from, to }: Days, most = 366): string | undefined {
  if (!isDay(from) || !isDay(to)) return t.period.days;
  if (to <= from) return t.period.order;
  return daysBetween(from, to) > most ? t.period.most(most) : undefined;
}

interface PeriodProps extends Days {
  /** Whether it can be left open, at one end or both. */
  isOptional?: boolean;
  /** Whether it is about days to come. */
  isAhead?: boolean;
  onChange: (days: Days) => void;
}

/** The first and the last day, and what people choose most. */
export function Period({ from, to, isOptional, isAhead, onChange }: PeriodProps): JSX.Element {
  const today = dayFromToday(0);
  const tomorrow = dayFromToday(1);
  const quick: [text: string, from: string, to: string][] = isAhead
    ? [7, 30].map((days) => [t.period.next(days), today, dayFromToday(days)])
    : [
        [t.period.today, today, tomorrow],
        [t.period.last(7), dayFromToday(-6), tomorrow],
        [t.period.last(30), dayFromToday(-29), tomorrow],
        [t.period.month, monthFromNow(0), tomorrow],
        [t.period.lastMonth, monthFromNow(-1), monthFromNow(0)],
      ];
  if (isOptional) quick.push([t.period.all, '', '']);
  // A year of four digits passes 2, 20 and 202 while it is typed.
  const limits = { type: 'date', min: '2000-01-01', max: '2999-12-31', required: !isOptional } as const;
  const input = (label: string, value: string, change: (day: string) => Days): JSX.Element => (
    <label class="check">
      {label}
      <input
        {...limits}
        value={value}
        onChange={({ currentTarget }) => currentTarget.validity.valid && onChange(change(currentTarget.value))}
      />
    </label>
  );
  return (
    <div class="bar" role="group" aria-label={t.period.title}>
      {input(t.period.from, from, (day) => ({ from: day, to }))}
      {input(t.period.through, dayBefore(to), (day) => ({ from, to: day && addDays(day, 1) }))}
      <div class="buttons">
        {quick.map(([text, first, end]) => (
          <button
            key={text}
            class="chip"
            aria-pressed={from === first && to === end}
            onClick={() => onChange({ from: first, to: end })}
          >
            {text}
          </button>
        ))}
      </div>
    </div>
  );
}

const MOST_FILES = 20;

/** A list as one file, although the API divides it. */
export async function whole(files: AsyncIterable<string>): Promise<string> {
  let text = '';
  let number = 0;
  for await (const file of files) {
    if (++number > MOST_FILES) throw new InputError(t.period.tooManyRows);
    // Each has the headers again.
    text += number === 1 ? file : file.slice(file.indexOf('\n') + 1);
  }
  return text;
}

/** A button that saves a CSV. @param props `name` of the file */
export function Download(props: { label: string; name: string; read: () => Promise<string> }): JSX.Element {
  const { error, isBusy, run } = useOnce(async () => save(await props.read(), 'text/csv', `${props.name}.csv`));
  return (
    <>
      <button onClick={run} aria-busy={isBusy}>
        {props.label}
      </button>
      {error !== undefined && <Problem error={error} />}
    </>
  );
}

/** @param query with days, or the names of filters of the API @returns the address of a list */
export const listOf = (name: string, query: Record<string, string | null | undefined>): string =>
  address(`list/${name}`, query);
