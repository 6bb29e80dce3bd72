import { describe, expect, it } from '@jest/globals';
import { lookOf, textFault, type TextKind, textPattern } from './texts.js';

const KINDS = ['id', 'name', 'reason', 'note'] as const satisfies TextKind[];

/** What `trim()` removes, without the line breaks and the tab, which are control characters. */
const BLANKS = [
  ...[0x20, 0xa0, 0x1680, 0x202f, 0x205f, 0x3000, 0xfeff],
  ...Array.from({ length: 11 }, (_, at) => 0x2000 + at),
].map((code) => String.fromCodePoint(code));
/** Format characters: soft hyphen, marks of direction, joiners, invisible operators, tags, and those of scripts. */
const FORMATS = [
  ...[0xad, 0x600, 0x61c, 0x180e, 0x200b, 0x200c, 0x200d, 0x200e, 0x200f, 0x202a, 0x202e, 0x2060, 0x2064, 0x2066],
  ...[0x2069, 0xfff9, 0x110bd, 0x1d173, 0xe0001, 0xe007f],
].map((code) => String.fromCodePoint(code));
/** Fillers, joiners, reserved code points that no font shows, and the blank of braille. */
const HIDDEN = [
  0x34f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2065, 0x2800, 0x3164, 0xffa0, 0xfff0, 0xfff8, 0xe0080, 0xe0fff,
].map((code) => String.fromCodePoint(code));
const CONTROLS = [...Array.from({ length: 32 }, (_, code) => code), ...Array.from({ length: 33 }, (_, at) => 0x7f + at)]
  .map((code) => String.fromCodePoint(code))
  .filter((control) => !'\t\n\r'.includes(control));

const codeOf = (character: string): string =>
  `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;
/** The kinds of texts that refuse a text. */
const refusing = (text: string): TextKind[] => KINDS.filter((kind) => textFault(kind, 100)(text) !== undefined);

describe('the texts of callers', () => {
  it.each([
    'PED-1001',
    'sku 1',
    'loja "1"\\',
    'São João, 3ª',
    'Sa\u0303o',
    'Zoe\u0308',
    '\u0301',
    '🎁',
    '👍🏽',
    '日本',
    '...',
    '.a',
    'a..',
    '\ufffd',
    '<b>',
    '=1+1',
    '٣',
  ])('%j is valid as every kind of text', (text) => {
    expect(refusing(text)).toEqual([]);
  });

  it.each(BLANKS.map((blank) => [codeOf(blank), blank]))(
    'the blank %s is refused at an end of what is compared, in IDs unless it is plain, and valid within others and in notes',
    (code, blank) => {
      for (const text of [`${blank}a`, `a${blank}`, blank.repeat(3)])
        expect([text, refusing(text)]).toEqual([text, ['id', 'name', 'reason']]);
      expect(refusing(`a${blank}b`)).toEqual(blank === ' ' ? [] : ['id']);
      expect(textFault('id', 100)(`a${blank}`)).toBe(
        `must not begin or end with blanks or invisible characters (${code})`,
      );
    },
  );

  it.each(FORMATS.map((format) => [codeOf(format), format]))(
    'the format character %s is refused in IDs, at an end of what is compared, and valid in notes',
    (code, format) => {
      for (const text of [`${format}a`, `a${format}`, format])
        expect([text, refusing(text)]).toEqual([text, ['id', 'name', 'reason']]);
      expect(refusing(`a${format}b`)).toEqual(['id']);
      expect(textFault('id', 100)(`a${format}b`)).toBe(`must not have invisible characters (${code})`);
    },
  );

  it.each(HIDDEN.map((hidden) => [codeOf(hidden), hidden]))(
    'what nobody sees of %s is refused in IDs, and at an end of what is compared',
    (code, hidden) => {
      for (const text of [`${hidden}a`, `a${hidden}`, hidden])
        expect([text, refusing(text)]).toEqual([text, ['id', 'name', 'reason']]);
      expect(textFault('id', 100)(`a${hidden}b`)).toBe(`must not have invisible characters (${code})`);
      expect(refusing(`a${hidden}b`)).toEqual(['id']);
    },
  );

  it.each(['\ufe0f', '\ufe00', '\u{e0100}', '\u180b'])(
    'the variation selector in %j is refused in IDs only',
    (selector) => {
      for (const text of [`❤${selector}`, `a${selector}b`]) expect(refusing(text)).toEqual(['id']);
    },
  );

  it.each(['\ufffe', '\uffff', '\ufdd0', '\u{10ffff}'])('%j, which is no character, is refused in IDs', (text) => {
    expect(refusing(`a${text}b`)).toEqual(['id']);
  });

  it('texts that look the same have one look, and others do not', () => {
    const same = ['OLD-1', 'old-1', 'OLD\u20101', 'OLD\u22121', 'ＯＬＤ－１', 'OLD-1\u3164', '\u00a0Old-1\u2800'];
    expect(new Set(same.map(lookOf))).toEqual(new Set(['old-1']));
    const blanks = ['OLD 1', 'OLD\u00a01', 'OLD  1', 'OLD\u30001', 'OLD\u200b1'];
    expect(new Set(blanks.map(lookOf))).toEqual(new Set(['old 1']));
    const others = ['OLD-1', 'OLD-2', 'OLD1', 'OLD 1', 'ÓLD-1', 'OLD_1'];
    expect(new Set(others.map(lookOf)).size).toBe(others.length);
  });

  it.each(CONTROLS.map((control) => [codeOf(control), control]))(
    'the control character %s is refused in every kind of text',
    (code, control) => {
      for (const text of [control, `a${control}b`, `${control}b`, `a${control}`]) expect(refusing(text)).toEqual(KINDS);
      expect(textFault('note', 100)(`a${control}b`)).toBe(`must not have control characters (${code})`);
    },
  );

  it.each(['\n', '\r', '\r\n', '\t', '\u2028', '\u2029'])('%j is refused in IDs and names only', (breaks) => {
    expect(refusing(`a${breaks}b`)).toEqual(['id', 'name']);
    expect(refusing(`a${breaks}`)).toEqual(['id', 'name', 'reason']);
    const code = codeOf(breaks);
    expect(textFault('name', 100)(`a${breaks}b`)).toBe(`must not have control characters or line breaks (${code})`);
  });

  it.each(['\ud800', 'a\udc00', '\ud83da', '\udf81\ud83c'])('the lone surrogate in %j is refused', (text) => {
    for (const kind of KINDS) expect(textFault(kind, 100)(text)).toBe('must be valid Unicode');
  });

  it.each(['👩\u200d💻 da noite', '🏳\ufe0f\u200d🌈!'])('%j joins emoji, and is no ID', (text) => {
    expect(refusing(text)).toEqual(['id']);
  });

  it.each(['.', '..'])('the ID %j is refused, because it cannot be in a path', (text) => {
    expect(refusing(text)).toEqual(['id']);
    expect(textFault('id', 100)(text)).toBe('must not be "." or ".."');
  });

  it('an ID, a name, and a text that must say something are not empty', () => {
    expect(refusing('')).toEqual(['id', 'name']);
    for (const kind of KINDS)
      for (const text of ['', ' ', '\u00a0\n']) expect(textFault(kind, 100, true)(text)).toBe('must not be empty');
  });

  it('a text has at most the characters that are allowed, of which each may have two code units', () => {
    const fault = textFault('note', 3);
    expect(['abc', '🎁🎁🎁', 'abcd', '🎁🎁🎁🎁'].map(fault)).toEqual([
      undefined,
      undefined,
      'has more than 3 characters',
      'has more than 3 characters',
    ]);
    expect([7, true, ['a'], {}].map(fault)).toEqual([
      'must be a string, in quotes',
      ...Array.from({ length: 3 }, () => 'must be a string of at most 3 characters'),
    ]);
  });

  it.each(['', 'u'])('the patterns for generated clients refuse only what is refused, with the flags %j', (flags) => {
    const characters = ['a', '.', 'p', '{', ' ', '\n', '\t', '\0', '\u0007', '\u007f', '\u00a0', 'é', '🎁', '\u200d'];
    const texts = characters.flatMap((one) => characters.map((other) => `${one}${other}${one}`));
    for (const kind of KINDS) {
      const pattern = new RegExp(textPattern(kind), flags);
      const matching = texts.filter((text) => pattern.test(text));
      expect(matching).toEqual(
        expect.arrayContaining(texts.filter((text) => textFault(kind, 100)(text) === undefined)),
      );
      expect(matching.filter((text) => ['\0', '\u0007', '\u007f'].some((control) => text.includes(control)))).toEqual(
        [],
      );
    }
    expect(['a', ' a', 'a ', 'a\nb', ' '].map((text) => new RegExp(textPattern('id'), flags).test(text))).toEqual([
      ...[true, false, false, false, false],
    ]);
  });
});
