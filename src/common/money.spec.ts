import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { exactCents, formatMoney, MAX_CENTS, parseMoney, sumCents } from './money.js';

describe('parsing money', () => {
  it.each([
    ['0', 0],
    ['0.0', 0],
    ['0.01', 1],
    ['0.1', 10],
    ['150', 15_000],
    ['150.5', 15_050],
    ['150.05', 15_005],
    ['1.15', 115], // 1.15 * 100 is 114.99999999999999 as a double.
    ['999999999.99', MAX_CENTS],
  ])('parses %s as %d centavos', (text, cents) => {
    expect(parseMoney(text)).toBe(cents);
  });

  it.each([
    '',
    ' ',
    '.',
    '1.',
    '.5',
    '00',
    '01',
    '-1',
    '+1',
    '1,50',
    '1.000',
    '1e2',
    '1 ',
    ' 1',
    '1\n',
    '0x1',
    'NaN',
    'Infinity',
    '1000000000',
    '١',
    '1.٥',
  ])('refuses %j', (text) => {
    expect(() => parseMoney(text)).toThrow(RangeError);
  });

  it('parses every amount that it formats', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: MAX_CENTS }), (cents) => {
        expect(parseMoney(formatMoney(cents))).toBe(cents);
      }),
    );
  });
});

describe('formatting money', () => {
  it.each([
    [0, '0.00'],
    [5, '0.05'],
    [-5, '-0.05'],
    [15_000, '150.00'],
    [-15_000, '-150.00'],
    [MAX_CENTS, '999999999.99'],
    [Number.MAX_SAFE_INTEGER, '90071992547409.91'],
  ])('formats %d centavos as %s', (cents, text) => {
    expect(formatMoney(cents)).toBe(text);
  });

  it.each([0.5, NaN, Infinity, Number.MAX_SAFE_INTEGER + 1])(
    'refuses %d, which is not an exact number of centavos',
    (cents) => {
      expect(() => formatMoney(cents)).toThrow(RangeError);
    },
  );
});

describe('centavos from the database', () => {
  it.each([
    [null, 0],
    [7, 7],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    [12n, 12],
  ])('can be %p', (value, cents) => {
    expect(exactCents(value)).toBe(cents);
  });

  it.each(['9007199254740992', 9007199254740993n, '1.5', 'abc'])('throw for %p instead of being inexact', (value) => {
    expect(() => exactCents(value)).toThrow(RangeError);
  });

  it('add up to zero if there are none, and throw if a sum is no longer exact', () => {
    expect(sumCents([])).toBe(0);
    expect(sumCents([1, 2, 3])).toBe(6);
    expect(() => sumCents([Number.MAX_SAFE_INTEGER, 1])).toThrow(RangeError);
  });
});
