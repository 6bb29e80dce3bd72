import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isCpf, maskDocument } from './cpf.js';

describe('a CPF', () => {
  it.each(['52998224725', '12345678909', '11144477735', '00000000191', '98765432100'])('is valid: %s', (digits) => {
    expect(isCpf(digits)).toBe(true);
  });

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
  ])('is not valid: %j', (text) => {
    expect(isCpf(text)).toBe(false);
  });

  it.each(Array.from({ length: 10 }, (_, digit) => String(digit).repeat(11)))(
    'is not valid if all digits are the same: %s',
    (digits) => {
      expect(isCpf(digits)).toBe(false);
    },
  );

  it('is not valid if any one digit is mistyped', () => {
    const valid = '52998224725';
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 }), fc.integer({ min: 1, max: 9 }), (at, by) => {
        const mistyped = valid.slice(0, at) + String((Number(valid[at]) + by) % 10) + valid.slice(at + 1);
        expect(isCpf(mistyped)).toBe(false);
      }),
    );
  });
});

it('shows six digits of a document in a log and hides the other five', () => {
  expect(maskDocument('52998224725')).toBe('***.982.247-**');
});
