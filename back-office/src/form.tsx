import { CashbackError } from '@cashback/client';
import { type ComponentChildren, createContext, type JSX } from 'preact';
import { useContext, useEffect, useId, useRef, useState } from 'preact/hooks';
import { t } from './format.js';
import { useSubmit, type Values } from './hooks.js';
import { notify } from './session.js';
import { InputError, Problem, problemText } from './ui.js';

const Refusal = createContext<Values>({});
const refusedTexts: Partial<Values> = t.refused;

export const LATEST = '2999-12-31T23:59';

interface FieldProps {
  name: string;
  label: string;
  value?: string | undefined;
  hint?: ComponentChildren;
  type?: 'text' | 'password' | 'email' | 'url' | 'date' | 'datetime-local';
  /** `unsaid` where all fields of a form are optional. */
  optional?: boolean | 'unsaid';
  inputMode?: 'numeric' | 'decimal';
  options?: [value: string, text: string][];
  suggestions?: string[];
  /** What a text has to be like. */
  pattern?: string;
  /** Earliest day. */
  min?: string;
  /** Latest day. */
  max?: string;
}

/** A labeled input, with what the service said about its member. */
export function Field(props: FieldProps): JSX.Element {
  const { name, label, value, hint, optional, options, suggestions, type, inputMode, pattern, min } = props;
  const id = useId();
  // Of `rates.pix`, the service may name the whole: `/rates`.
  const [member = name] = name.split('.');
  const refusals = useContext(Refusal);
  const refusal = refusals[name] ?? refusals[member];
  const shared = {
    id,
    name,
    required: !optional,
    'aria-invalid': refusal !== undefined,
    'aria-describedby': `${id}-hint`,
  };
  const list = suggestions && `${id}-list`;
  // Otherwise, browsers let people type years of six digits.
  const max = type === 'datetime-local' ? LATEST : props.max;
  const typed = { type: type ?? 'text', defaultValue: value, inputMode, autocomplete: 'off', list, pattern, min, max };
  const input = { ...shared, ...typed } as JSX.IntrinsicElements['input'];
  return (
    <p class="field">
      <label for={id}>
        {label} {optional === true && <small>{t.optional}</small>}
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
        {refusal ?? hint} {refusal !== undefined && refusal === refusedTexts[member] && hint}
      </small>
    </p>
  );
}

/** Fields that few people need. They are shown if one of them is refused. */
export function More({ summary, children }: { summary: string; children: ComponentChildren }): JSX.Element {
  const details = useRef<HTMLDetailsElement>(null);
  const refusals = useContext(Refusal);
  useEffect(() => {
    if (details.current!.querySelector('[aria-invalid="true"]')) details.current!.open = true;
  }, [refusals]);
  return (
    <details ref={details}>
      <summary>{summary}</summary>
      <div class="stack">{children}</div>
    </details>
  );
}

/** Boxes of which people tick some, with what the service said about their member. */
export function Choice(props: {
  name: string;
  legend: string;
  options: [value: string, text: ComponentChildren, isChosen: boolean][];
}): JSX.Element {
  const { name, legend, options } = props;
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

/** One of several, which decides what else is asked for. */
export const Either = <T extends string>(props: {
  legend: string;
  options: [value: T, text: string][];
  chosen: T;
  choose: (value: T) => void;
}): JSX.Element => {
  const id = useId();
  return (
    <fieldset class="choice">
      <legend>{props.legend}</legend>
      {props.options.map(([value, text]) => (
        <label key={value}>
          <input type="radio" name={id} checked={props.chosen === value} onChange={() => props.choose(value)} />
          {text}
        </label>
      ))}
    </fieldset>
  );
};

/** @returns what the service said about members, by the name of their field */
const refusalsOf = (error: unknown): Values => {
  const errors = error instanceof CashbackError ? error.errors : [];
  return Object.fromEntries(
    errors.map(({ pointer = '', detail }) => {
      // The rules of a campaign are one level down: `/rules/earn_rate`.
      const field = pointer.replace(/^\/rules\/(?=.)/, '/').split('/')[1] ?? '';
      return [
        field,
        error instanceof CashbackError && 'maximum' in error ? problemText(error) : (refusedTexts[field] ?? detail),
      ];
    }),
  );
};

/** Whether a field of the form already says what the service said. */
const isMarked = (error: unknown, form: HTMLFormElement | null): boolean =>
  Object.entries(refusalsOf(error)).some(
    ([name, text]) => text === problemText(error) && form?.elements.namedItem(name),
  );

export interface ActionProps {
  label: string;
  title?: string;
  /** What it is done to. */
  of?: string | undefined;
  isDangerous?: boolean;
  /** Whether it is what people come for. */
  isPrimary?: boolean;
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
  const [isOpen, open] = useState(false);
  return (
    <>
      <button aria-haspopup="dialog" class={props.isPrimary ? 'primary' : undefined} onClick={() => open(true)}>
        {props.label}
      </button>
      {isOpen && <ActionDialog {...props} onClose={() => open(false)} />}
    </>
  );
}

/** The dialog alone, for what is not opened by a button of its own. */
export function ActionDialog(props: ActionProps & { onClose: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [id] = useState(() => crypto.randomUUID());
  const isDone = useRef(false);
  const close = (): void => {
    props.onClose();
    if (isDone.current) props.onDone?.();
  };
  const done = (): void => {
    // It may be done when the dialog has already been closed, for example with Escape.
    if (dialog.current) isDone.current = true;
    else props.onDone?.();
  };
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-label={props.title ?? props.label} onClose={close}>
      <ActionForm {...props} id={id} onDone={done} close={() => dialog.current?.close()} />
    </dialog>
  );
}

/** A dialog that says something, and does nothing. */
export function Tell({ label, children }: { label: string; children: ComponentChildren }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  return (
    <>
      <button aria-haspopup="dialog" onClick={() => dialog.current?.showModal()}>
        {label}
      </button>
      <dialog ref={dialog} aria-label={label}>
        <form method="dialog">
          <h2>{label}</h2>
          {children}
          <p class="buttons last">
            <button>{t.action.close}</button>
          </p>
        </form>
      </dialog>
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
  const form = useRef<HTMLFormElement>(null);
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
  useEffect(() => {
    if (error !== undefined) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [error]);
  const isReady = preview !== undefined || !props.preview;
  return (
    <form
      ref={form}
      onSubmit={submit}
      onInput={() => {
        inputs.current++;
        setPreview(undefined);
      }}
    >
      <div>
        <h2>{props.title ?? props.label}</h2>
        {props.of && <p class="soft">{props.of}</p>}
      </div>
      {done ?? (
        <Refusal.Provider value={refusalsOf(error)}>
          {props.children}
          {preview !== undefined && (
            <div class="stack" role="status" ref={scrollTo}>
              {preview}
            </div>
          )}
          {error !== undefined && (
            <div ref={scrollTo}>
              <Problem error={isMarked(error, form.current) ? new InputError(t.problems.validation_failed) : error} />
            </div>
          )}
        </Refusal.Provider>
      )}
      <p class="buttons last">
        <button type="button" onClick={props.close}>
          {done ? t.action.close : t.action.back}
        </button>
        {!done && (
          <button
            data-step={isReady ? 'confirm' : 'preview'}
            class={props.isDangerous && isReady ? 'danger' : 'primary'}
            disabled={isBusy || (preview !== undefined && !isShown)}
          >
            {isBusy ? t.action.working : isReady ? props.label : t.action.preview}
          </button>
        )}
      </p>
    </form>
  );
}
