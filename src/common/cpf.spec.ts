import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isCpf, maskDocument } from './cpf.js';

describe('CPF check digits', () => {
  it.each(['52998224725', '12345678909', '11144477735', '00000000191', '98765432100'])(
    'the check digits of the CPF %s are valid',
    (digits) => {
      expect(isCpf(digits)).toBe(true);
    },
  );

  it.each([
    '52998224726',
    '52998224735',
    '12345678900',
    '5299822472',
    '529982247255',
    '529.982.247-25',
    '52998224725a',
    '52998224725\n',
    '',
    '٥٢٩٩٨٢٢٤٧٢٥',
  ])('the check digits of %j are not valid', (text) => {
    expect(isCpf(text)).toBe(false);
  });

  it.each(Array.from({ length: 10 }, (_, digit) => String(digit).repeat(11)))(
    'the CPF %s is not valid because all of its digits are equal',
    (digits) => {
      expect(isCpf(digits)).toBe(false);
    },
  );

  it('the check digits detect any single mistyped digit', () => {
    const valid = '52998224725';
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 }), fc.integer({ min: 1, max: 9 }), (at, by) => {
        const mistyped = valid.slice(0, at) + String((Number(valid[at]) + by) % 10) + valid.slice(at + 1);
        expect(isCpf(mistyped)).toBe(false);
      }),
    );
  });
});

it('a masked document shows six digits and hides the other five', () => {
  expect(maskDocument('52998224725')).toBe('***.982.247-**');
});
