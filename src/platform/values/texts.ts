/** Texts that the caller keeps with a resource, by key. */
export type Metadata = Record<string, string>;

export const MAX_METADATA_MEMBERS = 20;
export const MAX_METADATA_VALUE = 500;
export const METADATA_KEY = /^[A-Za-z0-9_.-]{1,40}$/;

/**
 * Returns metadata as it is stored; null if there is none. The keys are in the order in which MySQL keeps them, so that
 * metadata looks the same before and after it was read from a database.
 */
export function readMetadata(given: Metadata | undefined): Metadata | null {
  const members = Object.entries(given ?? {});
  if (members.length === 0) return null;
  return Object.fromEntries(members.sort(([a], [b]) => a.length - b.length || (a < b ? -1 : 1)));
}

/** Says what is wrong with a value, as a text for the caller; undefined if nothing is. */
export type FaultOf = (value: unknown) => string | undefined;

/**
 * What the caller's texts are. An `id` is compared, and can be a part of a path; a `name` is one line; a `reason` is
 * compared, so it differs from others in what people see; a `note` is only kept.
 */
export type TextKind = 'id' | 'name' | 'reason' | 'note';

/** What a text must not match, and what to say of `%`, the first character that does. */
type TextRule = [pattern: RegExp, fault: string];

const EMPTY: TextRule = [/^\s*$/, 'must not be empty'];
/** A lone surrogate, such as `"\ud800"` in JSON, cannot be encoded in UTF-8. */
const SURROGATE: TextRule = [/\p{Cs}/u, 'must be valid Unicode'];
const CONTROL: TextRule = [/[^\P{Cc}\t\n\r]/u, 'must not have control characters (%)'];
const BREAK: TextRule = [/[\p{Cc}\p{Zl}\p{Zp}]/u, 'must not have control characters or line breaks (%)'];
const UNSEEN = String.raw`[\s\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]`;
const ALL_UNSEEN = new RegExp(UNSEEN, 'gu');
const ALL_UNSEEN_AND_MARKS = new RegExp(String.raw`${UNSEEN}|\p{C}|\p{M}`, 'gu');
/** The service's collation ignores blanks at the end. An emoji may end with a variation selector. */
const END: TextRule = [
  new RegExp(String.raw`^(?!\p{Variation_Selector})${UNSEEN}|(?!\p{Variation_Selector})${UNSEEN}$`, 'u'),
  'must not begin or end with blanks or invisible characters (%)',
];
/** A plain blank is the only one that people can tell from others. */
const HIDDEN: TextRule = [
  new RegExp(String.raw`(?! )${UNSEEN}|\p{Noncharacter_Code_Point}`, 'u'),
  'must not have invisible characters (%)',
];
/** Clients remove them from paths. */
const DOTS: TextRule = [/^\.\.?$/, 'must not be "." or ".."'];

const RULES: Record<TextKind, TextRule[]> = {
  id: [SURROGATE, BREAK, END, HIDDEN, DOTS],
  name: [SURROGATE, BREAK, END],
  reason: [SURROGATE, CONTROL, END],
  note: [SURROGATE, CONTROL],
};

/** Whether a text is one line that must say something. */
export const isLine = (kind: TextKind): boolean => kind === 'id' || kind === 'name';

/** The only validator of the caller's texts. @param isFilled whether another text must say something, too. */
export const textFault =
  (kind: TextKind, maximum: number, isFilled = isLine(kind)): FaultOf =>
  (value) => {
    if (typeof value === 'number') return 'must be a string, in quotes';
    if (typeof value !== 'string') return `must be a string of at most ${maximum} characters`;
    // Code points count, not UTF-16 code units.
    if (value.length > maximum && [...value].length > maximum) return `has more than ${maximum} characters`;
    for (const [pattern, fault] of isFilled ? [EMPTY, ...RULES[kind]] : RULES[kind]) {
      const found = pattern.exec(value)?.[0];
      if (found !== undefined) return fault.replace('%', `U+${hexOf(found)}`);
    }
    return undefined;
  };

/** Without what nobody sees: blanks, control and format characters, fillers, and marks on nothing. */
export const withoutUnseen = (text: string): string => text.replace(ALL_UNSEEN_AND_MARKS, '');

/** What people see of a text: texts that look the same, or nearly, have the same. */
export const lookOf = (text: string): string =>
  text
    .normalize('NFKC')
    .replace(ALL_UNSEEN, ' ')
    .replace(/[\p{Pd}\u2212]/gu, '-')
    .replace(/ +/g, ' ')
    .trim()
    .toLowerCase();

const hexOf = (found: string): string => (found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');

/** What the regular expressions of all languages can say of the rules, for the OpenAPI document. */
export function textPattern(kind: TextKind): string {
  const inside = isLine(kind) ? '[^\\x00-\\x1F\\x7F]*' : '[^\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\x7F]*';
  const end = '[^\\x00-\\x20\\x7F]';
  return kind === 'note' ? `^${inside}$` : `^(${end}(${inside}${end})?)?$`;
}
