import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { exactCents, formatMoney, formatPercent, formatRate, MAX_CENTS, parseMoney, sumCents } from './money.js';

describe('parseMoney', () => {
  it.each([
    ['0', 0],
    ['0.0', 0],
    ['0.01', 1],
    ['0.1', 10],
    ['150', 15_000],
    ['150.5', 15_050],
    ['150.05', 15_005],
    ['1.15', 115], // As a double, 1.15 * 100 is 114.99999999999999.
    ['999999999.99', MAX_CENTS],
  ])('the amount %s is parsed as %d centavos', (text, cents) => {
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
  ])('the amount %j is rejected', (text) => {
    expect(() => parseMoney(text)).toThrow(RangeError);
  });

  it('every formatted amount is parsed as the same number of centavos', () => {
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
  ])('%d centavos are formatted as %s', (cents, text) => {
    expect(formatMoney(cents)).toBe(text);
  });

  it.each([0.5, NaN, Infinity, Number.MAX_SAFE_INTEGER + 1])(
    '%d is rejected because it is not an exact number of centavos',
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
  ])('the database value %p is accepted as centavos', (value, cents) => {
    expect(exactCents(value)).toBe(cents);
  });

  it.each(['9007199254740992', 9007199254740993n, '1.5', 'abc'])(
    'the database value %p is rejected because it cannot be represented exactly',
    (value) => {
      expect(() => exactCents(value)).toThrow(RangeError);
    },
  );

  it('the sum of no amounts is zero, and a sum that is not exact throws', () => {
    expect(sumCents([])).toBe(0);
    expect(sumCents([1, 2, 3])).toBe(6);
    expect(() => sumCents([Number.MAX_SAFE_INTEGER, 1])).toThrow(RangeError);
  });
});

describe('formatRate', () => {
  it.each([
    [0, '0.00'],
    [1, '0.0001'],
    [10, '0.001'],
    [100, '0.01'],
    [500, '0.05'],
    [725, '0.0725'],
    [550, '0.055'],
    [5000, '0.50'],
    [9999, '0.9999'],
    [10_000, '1.00'],
    [12_500, '1.25'],
  ])('%i basis points are "%s"', (bps, text) => {
    expect(formatRate(bps)).toBe(text);
  });

  it('every rate from 0 to 1 has the same value as a number', () => {
    for (let bps = 0; bps <= 10_000; bps++) expect(Math.round(Number(formatRate(bps)) * 10_000)).toBe(bps);
  });

  it.each([-1, 0.5, NaN])('%d is not a rate', (bps) => {
    expect(() => formatRate(bps)).toThrow(RangeError);
    expect(() => formatPercent(bps)).toThrow(RangeError);
  });
});

describe('formatPercent', () => {
  it.each([
    [0, '0%'],
    [1, '0.01%'],
    [50, '0.5%'],
    [500, '5%'],
    [705, '7.05%'],
    [1000, '10%'],
    [10_000, '100%'],
  ])('%i basis points are %s', (bps, text) => {
    expect(formatPercent(bps)).toBe(text);
  });
});
