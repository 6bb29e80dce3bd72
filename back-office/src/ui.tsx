import { CashbackError, type By, type EntryKind, type Order, type OrderStatus } from '@cashback/client';
import { type ComponentChildren, Fragment, type JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { isDocument } from '../../src/platform/values/document.js';
import { day, documentText, fullDay, fullInstant, instant, money, t } from './format.js';
import type { Loaded } from './hooks.js';
import type { Members } from './texts/en.js';

/** Says what a form lacks, before anything is sent. */
export class InputError extends Error {}

/** What went wrong, and what to do; an unexpected one with the ID that the log has. */
export function problemText(error: unknown): string {
  if (error instanceof InputError) return error.message;
  // A part of the page that did not arrive.
  if (error instanceof TypeError && /import|module/i.test(error.message)) return t.problems.network_error;
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
  if (error instanceof CashbackError && error.status === 404) return <Nothing text={problemText(error)} />;
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

/**
 * The heading of a view, which has the focus when the view is new, so that a screen reader reads it and Tab goes on
 * from here. The title of the page is the same.
 */
export function Heading({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  useEffect(() => {
    document.title = `${title} – ${t.title}`;
  }, [title]);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {title} {children}
    </h1>
  );
}

/** The heading of a view, with what it is for, and what can be done. */
export const Head = (props: { title: string; text?: string; children?: ComponentChildren }): JSX.Element => (
  <div class="head">
    <div>
      <Heading title={props.title} />
      {props.text && <p class="soft">{props.text}</p>}
    </div>
    <div class="buttons">{props.children}</div>
  </div>
);

/** One of several, chosen by a button. */
export const Chips = <T extends string>(props: {
  label: string;
  options: [value: T, text: string][];
  at: T;
  choose: (value: T) => void;
}): JSX.Element => (
  <p class="buttons" role="group" aria-label={props.label}>
    {props.options.map(([value, text]) => (
      <button
        key={value}
        type="button"
        class="chip"
        aria-pressed={value === props.at}
        onClick={() => props.choose(value)}
      >
        {text}
      </button>
    ))}
  </p>
);

export function Section(props: {
  title: string;
  text?: string | undefined;
  /** What can be done, beside the title. */
  actions?: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <div class="head">
        <div>
          <h2 id={id}>{props.title}</h2>
          {props.text && <p class="soft">{props.text}</p>}
        </div>
        {props.actions && <div class="buttons">{props.actions}</div>}
      </div>
      {props.children}
    </section>
  );
}

/** What is not there, or not for this user: to try again would not help. */
export const Nothing = ({ text }: { text: string }): JSX.Element => (
  <Empty>
    {text} <a href="#/">{t.toHome}</a>
  </Empty>
);

/** Why there is nothing, and what to do. */
export const Empty = ({ children }: { children: ComponentChildren }): JSX.Element => <p class="empty">{children}</p>;

/** Parts of a view, each with an address of its own. @param props `base` is the address of the first */
export function Tabs(props: {
  label: string;
  base: string;
  at: string;
  tabs: [path: string, text: string][];
}): JSX.Element {
  const tabs = useRef<HTMLElement>(null);
  useEffect(() => {
    const { scrollWidth, clientWidth } = tabs.current!;
    const isCut = scrollWidth > clientWidth;
    if (isCut) tabs.current!.querySelector('[aria-current]')?.scrollIntoView({ inline: 'center', block: 'nearest' });
  }, [props.at]);
  return (
    <nav class="tabs" ref={tabs} aria-label={props.label}>
      {props.tabs.map(([path, text]) => (
        <a
          key={path}
          href={`#/${props.base}${path && `/${path}`}`}
          aria-current={path === props.at ? 'page' : undefined}
        >
          {text}
        </a>
      ))}
    </nav>
  );
}

/** Good is green, wait is amber, off is grey. The mark before the text differs, too. */
export type Tone = 'good' | 'wait' | 'off';
export const Badge = ({ tone, text }: { tone: Tone; text: string }): JSX.Element => (
  <span class={`badge ${tone}`}>{text}</span>
);

const TONES: Record<OrderStatus, Tone> = {
  pending: 'wait',
  completed: 'good',
  partially_refunded: 'wait',
  refunded: 'off',
  cancelled: 'off',
  expired: 'off',
};
export const OrderBadge = ({ status }: { status: OrderStatus }): JSX.Element => (
  <Badge tone={TONES[status]} text={t.status[status]} />
);

export const isZero = (amount: string): boolean => /^-?0(\.0+)?$/.test(amount);

/** Zero is a dash, so that what is not zero can be seen. */
export const Money = ({ of }: { of: string }): JSX.Element =>
  isZero(of) ? <span class="zero">–</span> : <span class={/^-/.test(of) ? 'money minus' : 'money'}>{money(of)}</span>;

/** A short text, with all that it stands for under the mouse and for readers. */
const Time = ({ text, whole }: { text: string; whole: string }): JSX.Element => (
  <time title={whole}>
    <span aria-hidden="true">{text}</span>
    <span class="hidden">{whole}</span>
  </time>
);
export const When = ({ at }: { at: string }): JSX.Element => <Time text={instant(at)} whole={fullInstant(at)} />;
export const Day = ({ of }: { of: string }): JSX.Element => <Time text={day(of)} whole={fullDay(of)} />;

/** A number that people look for. @param props `href` is where it leads */
export const Tile = (props: {
  name: string;
  shown: ComponentChildren;
  href?: string;
  children?: ComponentChildren;
}): JSX.Element => (
  <div class="tile">
    <dt>{props.name}</dt>
    <dd>
      <strong>{props.href ? <a href={props.href}>{props.shown}</a> : props.shown}</strong>
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

/** An order that expired or was cancelled earns nothing, so its offer is none to show. */
export const earnsNothing = ({ status }: Pick<Order, 'status'>): boolean => ['expired', 'cancelled'].includes(status);

/** What a line of the ledger is; what was undone has the other sign. */
export function kindText(kind: EntryKind, amount: string): string {
  const isTaken = amount.startsWith('-');
  const isUndone = kind === 'return' ? isTaken : !isTaken && (kind === 'take_back' || kind === 'debit');
  return isUndone ? t.refund.undoneOf(t.entryKind[kind]) : t.entryKind[kind];
}

export const by = (who: By | null): string => (!who ? '–' : who.user_id ? who.name : t.operator);

/** A CPF or CNPJ, hidden until it is asked for. An erased customer has none. */
export function Document({ of }: { of: string }): JSX.Element {
  const [hidden, hide] = useState(true);
  return (
    <span class="document">
      {documentText(of, hidden)}{' '}
      {isDocument(of) && (
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
      type="button"
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

/** What is shown only once, such as a password, with a button that copies it. */
export const Once = ({ text, value }: { text: string; value: string }): JSX.Element => (
  <div class="stack">
    <p>{text}</p>
    <p class="bar">
      <code>{value}</code> <Copy text={value} />
    </p>
  </div>
);

/** Gives the browser a file. */
export function save(text: string, type: string, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
