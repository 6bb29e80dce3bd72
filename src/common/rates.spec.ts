import { describe, expect, it } from '@jest/globals';
import { formatRate } from './rates.js';

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
  });
});
