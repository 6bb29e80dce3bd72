import { CashbackError, type By, type Order } from '@cashback/client';
import { type ComponentChildren, createContext, Fragment, type JSX } from 'preact';
import { useContext, useEffect, useId, useMemo, useRef, useState } from 'preact/hooks';
import { isDocument } from '../../src/platform/values/document.js';
import { documentText, money, t } from './format.js';
import { notify } from './session.js';
import type { Members } from './texts/en.js';
import { type Loaded, type Paged, usePages, useSubmit, type Values } from './hooks.js';

/** Says what a form lacks, before anything is sent. */
export class InputError extends Error {}

/** What went wrong, and what to do; an unexpected one with the ID that the log has. */
export function problemText(error: unknown): string {
  if (error instanceof InputError) return error.message;
  if (!(error instanceof CashbackError)) return t.problem.unexpected(String(error));
  const known = (t.problems as Partial<Record<string, string | ((members: Members) => string)>>)[error.code];
  if (known === undefined) return t.problem.unexpected(`${error.code}, ${error.requestId ?? '–'}`);
  if (typeof known === 'string') return known;
  const { maximum, minimum, permission } = error as Partial<Members>;
  const { held_by: holding = [] } = error as { held_by?: { external_id: string }[] };
  return known({
    ...{ maximum: money(maximum ?? '0'), minimum: money(minimum ?? '0'), permission: permission ?? '' },
    heldBy: holding.map(({ external_id: id }) => id).join(', '),
  });
}

export const Problem = ({ error, retry }: { error: unknown; retry?: () => void }): JSX.Element => (
  <p class="problem" role="alert">
    {problemText(error)} {retry && <button onClick={retry}>{t.action.tryAgain}</button>}
  </p>
);

/** Shows grey lines until the data is there, so that nothing jumps. */
export function Await<T>(props: {
  of: Loaded<T>;
  lines?: number;
  children: (data: T) => ComponentChildren;
}): JSX.Element {
  const { data, error, reload } = props.of;
  if (error !== undefined) return <Problem error={error} retry={reload} />;
  return data === undefined ? <Skeleton lines={props.lines ?? 3} /> : <>{props.children(data)}</>;
}

export const Skeleton = ({ lines }: { lines: number }): JSX.Element => (
  <div class="skeleton" role="status" aria-label={t.loading}>
    {Array.from({ length: lines }, (_, line) => (
      <i key={line} />
    ))}
  </div>
);

export interface Column<T> {
  head: string;
  cell: (row: T) => ComponentChildren;
  /** Numbers and amounts are aligned to the right. */
  isNumber?: boolean;
}

interface TableProps<T> {
  caption: string;
  columns: Column<T>[];
  rows: T[];
  foot?: T | undefined;
}

/** A table that scrolls by itself if the screen is narrow. A continued one has its heads for screen readers only. */
function PlainTable<T>({
  caption,
  columns,
  rows,
  foot,
  isContinued,
}: TableProps<T> & { isContinued?: boolean }): JSX.Element {
  const cells = (row: T): JSX.Element[] =>
    columns.map(({ head, cell, isNumber }) => (
      <td key={head} class={isNumber ? 'number' : undefined}>
        {cell(row)}
      </td>
    ));
  return (
    <div class="scrolls" role="region" aria-label={caption} tabIndex={0}>
      <table>
        <thead class={isContinued ? 'hidden' : undefined}>
          <tr>
            {columns.map(({ head, isNumber }) => (
              <th key={head} scope="col" class={isNumber ? 'number' : undefined}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>{cells(row)}</tr>
          ))}
        </tbody>
        {foot && (
          <tfoot>
            <tr>{cells(foot)}</tr>
          </tfoot>
        )}
      </table>
    </div>
  );
}

export function Table<T>(props: TableProps<T>): JSX.Element {
  return props.rows.length === 0 ? <p class="empty">{t.nothing}</p> : <PlainTable {...props} />;
}

// A page that was drawn is not drawn again when the next one comes, and not laid out while it is out of sight.
function Chunk<T>(props: Parameters<typeof PlainTable<T>>[0]): JSX.Element {
  return useMemo(() => <PlainTable {...props} />, [props.rows]);
}

/** A list of the API. More is loaded at its end, when that is in sight or by the button. */
export function PagedTable<T>(props: {
  caption: string;
  columns: Column<T>[];
  list: (signal: AbortSignal) => Paged<T>;
  on: unknown[];
}): JSX.Element {
  const { pages, isComplete, isLoading, error, more } = usePages(props.list, props.on);
  const shown = pages.filter((rows) => rows.length > 0);
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const watcher = new IntersectionObserver(([entry]) => entry?.isIntersecting && more(), { rootMargin: '300px' });
    if (pages.length > 0 && !isComplete && !isLoading && error === undefined) watcher.observe(end.current!);
    return () => watcher.disconnect();
  });
  return (
    <>
      {shown.map((rows, index) => (
        <div class={rows.length < 50 ? 'chunk' : 'chunk far'} key={index}>
          <Chunk
            caption={`${props.caption} ${index + 1}`}
            columns={props.columns}
            rows={rows}
            isContinued={index > 0}
          />
        </div>
      ))}
      {isComplete && shown.length === 0 && <p class="empty">{t.nothing}</p>}
      {isLoading && <Skeleton lines={pages.length === 0 ? 4 : 1} />}
      {error !== undefined && <Problem error={error} retry={more} />}
      <div ref={end}>{!isComplete && !isLoading && <button onClick={more}>{t.action.more}</button>}</div>
    </>
  );
}

export const Money = ({ of }: { of: string }): JSX.Element => (
  <span class={/^-/.test(of) ? 'money minus' : 'money'}>{money(of)}</span>
);

export const Tile = (props: { name: string; amount: string; children?: ComponentChildren }): JSX.Element => (
  <div class="tile">
    <dt>{props.name}</dt>
    <dd>
      <strong>{money(props.amount)}</strong>
      <small>{props.children}</small>
    </dd>
  </div>
);

/** What there is to say about a thing: names, each with its amount or text, and without those that do not apply. */
export const Facts = ({ of }: { of: (false | [name: string, ...ComponentChildren[]])[] }): JSX.Element => (
  <dl class="facts">
    {of
      .filter((fact) => fact !== false)
      .map(([name, ...facts]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{facts}</dd>
        </Fragment>
      ))}
  </dl>
);

export function Section(props: { title: string; text?: string; children: ComponentChildren }): JSX.Element {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{props.title}</h2>
      {props.text && <p class="empty">{props.text}</p>}
      {props.children}
    </section>
  );
}

/** An order that expired or was cancelled earns nothing, so its offer is none to show. */
export const earnsNothing = ({ status }: Pick<Order, 'status'>): boolean => ['expired', 'cancelled'].includes(status);

export const by = (who: By | null): string => (!who ? '–' : who.user_id ? who.name : t.operator);

/** A CPF or CNPJ, hidden until it is asked for. An erased customer has none. */
export function Customer({ document }: { document: string }): JSX.Element {
  const [hidden, hide] = useState(true);
  return (
    <span class="document">
      {documentText(document, hidden)}{' '}
      {isDocument(document) && (
        <button class="link" onClick={() => hide(!hidden)}>
          {hidden ? t.action.show : t.action.hide}
        </button>
      )}
    </span>
  );
}

export function Copy({ text }: { text: string }): JSX.Element {
  const [copied, set] = useState(false);
  return (
    <button
      onClick={() =>
        void navigator.clipboard.writeText(text).then(
          () => set(true),
          // The browser may refuse it.
          () => undefined,
        )
      }
    >
      {copied ? t.action.copied : t.action.copy}
    </button>
  );
}

/** Gives the browser a file. */
export function save(text: string, type: string, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

const Refusal = createContext<Values>({});
const refusedTexts: Partial<Values> = t.refused;

export const LATEST = '2999-12-31T23:59';

interface FieldProps {
  name: string;
  label: string;
  value?: string | undefined;
  hint?: string;
  type?: 'text' | 'password' | 'email' | 'url' | 'date' | 'datetime-local';
  optional?: boolean;
  inputMode?: 'numeric' | 'decimal';
  options?: [value: string, text: string][];
  suggestions?: string[];
}

interface ChoiceProps {
  name: string;
  legend: string;
  options: [value: string, text: string, isChosen: boolean][];
}

/** A labeled input, with what the service said about its member. */
export function Field(props: FieldProps): JSX.Element {
  const { name, label, value, hint, optional, options, suggestions, type, inputMode } = props;
  const id = useId();
  const refusal = useContext(Refusal)[name];
  const shared = {
    id,
    name,
    required: !optional,
    'aria-invalid': refusal !== undefined,
    'aria-describedby': `${id}-hint`,
  };
  const list = suggestions && `${id}-list`;
  // Otherwise, browsers let people type years of six digits.
  const max = type === 'datetime-local' ? LATEST : undefined;
  const typed = { type: type ?? 'text', defaultValue: value, inputMode, autocomplete: 'off', list, max };
  const input = { ...shared, ...typed } as JSX.IntrinsicElements['input'];
  return (
    <p class="field">
      <label for={id}>
        {label} {optional && <small>{t.optional}</small>}
      </label>
      {options ? (
        <select {...shared} defaultValue={value}>
          {options.map(([option, text]) => (
            <option key={option} value={option} selected={option === value}>
              {text}
            </option>
          ))}
        </select>
      ) : (
        <input {...input} />
      )}
      {suggestions && (
        <datalist id={list}>
          {suggestions.map((text) => (
            <option key={text} value={text} />
          ))}
        </datalist>
      )}
      <small id={`${id}-hint`} class={refusal ? 'refusal' : undefined}>
        {refusal ?? hint} {refusal !== undefined && refusal === refusedTexts[name] && hint}
      </small>
    </p>
  );
}

/** Boxes of which people tick some, with what the service said about their member. */
export function Choice({ name, legend, options }: ChoiceProps): JSX.Element {
  const id = useId();
  const refusal = useContext(Refusal)[name];
  return (
    <fieldset class="choice" aria-describedby={`${id}-hint`}>
      <legend>{legend}</legend>
      {options.map(([value, text, isChosen]) => (
        <label key={value}>
          <input
            type="checkbox"
            name={name}
            value={value}
            defaultChecked={isChosen}
            aria-invalid={refusal !== undefined}
          />
          {text}
        </label>
      ))}
      <small id={`${id}-hint`} class="refusal">
        {refusal}
      </small>
    </fieldset>
  );
}

/** @returns what the service said about members, by the name of their field */
const refusalsOf = (error: unknown): Values => {
  const errors = error instanceof CashbackError ? error.errors : [];
  return Object.fromEntries(
    errors.map(({ pointer = '', detail }) => {
      const field = pointer.split('/')[1] ?? '';
      return [
        field,
        error instanceof CashbackError && 'maximum' in error ? problemText(error) : (refusedTexts[field] ?? detail),
      ];
    }),
  );
};

export interface ActionProps {
  label: string;
  title?: string;
  /** What it is done to. */
  of?: string | undefined;
  isDangerous?: boolean;
  children?: ComponentChildren;
  /** What would happen, shown before `work` does it. */
  preview?: (values: Values) => ComponentChildren | Promise<ComponentChildren>;
  /** @param id a new UUID for each opened dialog: a second click or attempt does the same thing again, not another one */
  work: (values: Values, id: string) => Promise<ComponentChildren | void>;
  /** When it is done, or something else may be, and the dialog is closed. */
  onDone?: () => void;
}

/** A button that opens a dialog, which does one thing once. What was typed stays if it fails. */
export function Action(props: ActionProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [open, setOpen] = useState<string | null>(null);
  const isDone = useRef(false);
  const close = (): void => {
    setOpen(null);
    if (isDone.current) props.onDone?.();
    isDone.current = false;
  };
  const done = (): void => {
    // It may be done when the dialog has already been closed, for example with Escape.
    if (dialog.current) isDone.current = true;
    else props.onDone?.();
  };
  useEffect(() => {
    if (open !== null) dialog.current?.showModal();
  }, [open]);
  return (
    <>
      <button class={props.isDangerous ? 'danger' : undefined} onClick={() => setOpen(crypto.randomUUID())}>
        {props.label}
      </button>
      {open !== null && (
        <dialog ref={dialog} aria-label={props.title ?? props.label} onClose={close}>
          <ActionForm {...props} id={open} onDone={done} close={() => dialog.current?.close()} />
        </dialog>
      )}
    </>
  );
}

/** A dialog can be longer than the screen. */
const scrollTo = (shown: HTMLElement | null): void => shown?.scrollIntoView({ block: 'nearest' });

/**
 * Without an answer, it may be done, and a conflict says that something else was: what is shown must be loaded again
 * before someone does it twice.
 */
const isOutdated = (error: unknown): boolean =>
  error instanceof CashbackError && (error.status >= 500 || [0, 404, 409, 412].includes(error.status));

function ActionForm(props: ActionProps & { id: string; onDone: () => void; close: () => void }): JSX.Element {
  const [preview, setPreview] = useState<ComponentChildren>();
  const [isShown, setShown] = useState(false);
  const [done, setDone] = useState<ComponentChildren>();
  const inputs = useRef(0);
  const { isBusy, error, submit } = useSubmit(async (values) => {
    if (props.preview && preview === undefined) {
      const before = inputs.current;
      const next = await props.preview(values);
      if (before !== inputs.current) return;
      // The second click of a double click must not confirm what nobody has read.
      setShown(false);
      setTimeout(() => setShown(true), 700);
      return setPreview(next);
    }
    setPreview(undefined);
    const result = await props.work(values, props.id).catch((error: unknown) => {
      if (isOutdated(error)) props.onDone();
      throw error;
    });
    props.onDone();
    if (result) return setDone(result);
    notify('done');
    props.close();
  });
  const isReady = preview !== undefined || !props.preview;
  return (
    <form
      onSubmit={submit}
      onInput={() => {
        inputs.current++;
        setPreview(undefined);
      }}
    >
      <h2>{props.title ?? props.label}</h2>
      {props.of && <p class="empty">{props.of}</p>}
      {done ?? (
        <Refusal.Provider value={refusalsOf(error)}>
          {props.children}
          {preview !== undefined && (
            <div role="status" ref={scrollTo}>
              {preview}
            </div>
          )}
          {error !== undefined && (
            <div ref={scrollTo}>
              <Problem error={error} />
            </div>
          )}
        </Refusal.Provider>
      )}
      <p class="buttons">
        <button type="button" onClick={props.close}>
          {done ? t.action.close : t.action.back}
        </button>
        {!done && (
          <button
            class={props.isDangerous && isReady ? 'danger' : 'primary'}
            disabled={isBusy || (preview !== undefined && !isShown)}
          >
            {isBusy ? t.action.working : isReady ? t.action.confirm : t.action.preview}
          </button>
        )}
      </p>
    </form>
  );
}

interface ChartProps {
  caption: string;
  /** `value` is the height only: people read `text`. */
  bars: { name: string; value: number; text: string }[];
  /** Whether the list below is for everyone, not only for screen readers. */
  isListed?: boolean;
}

/** Bars, and their texts as a list. */
export function Chart({ caption, bars, isListed }: ChartProps): JSX.Element {
  const most = Math.max(...bars.map(({ value }) => value), 0.01);
  const width = 100 / bars.length;
  return (
    <figure>
      <figcaption>{caption}</figcaption>
      <svg viewBox="0 0 100 30" preserveAspectRatio="none" aria-hidden="true">
        {bars.map(({ name, value, text }, index) => {
          const height = (Math.max(value, 0) / most) * 29;
          return (
            <g key={name}>
              <title>{`${name}: ${text}`}</title>
              <rect class="space" x={index * width} y={0} width={width} height={30} />
              <rect x={index * width + width * 0.1} y={30 - height} width={width * 0.8} height={height} />
            </g>
          );
        })}
      </svg>
      {!isListed && bars.length > 0 && (
        <p class="axis" aria-hidden="true">
          <span>{bars[0]!.name}</span>
          <span>{t.atMost(bars.reduce((top, bar) => (bar.value > top.value ? bar : top)).text)}</span>
          <span>{bars.at(-1)!.name}</span>
        </p>
      )}
      <ol class={isListed ? 'legend' : 'hidden'}>
        {bars.map(({ name, text }) => (
          <li key={name}>
            {name} <b>{text}</b>
          </li>
        ))}
      </ol>
    </figure>
  );
}
