import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { hasValidCheckDigits, isDocument, maskDocuments, withoutPunctuation } from './document.js';

const CPFS = ['52998224725', '12345678909', '11144477735', '00000000191', '98765432100'];
/** `12ABC34501DE35` is the example of the Receita Federal. */
const CNPJS = ['11222333000181', '00000000000191', '33000167000101', '12ABC34501DE35'];

describe('check digits', () => {
  it.each([...CPFS, ...CNPJS])('the check digits of %s are valid', (document) => {
    expect(hasValidCheckDigits(document)).toBe(true);
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
    '11222333000180',
    '11222333000191',
    '1122233300018',
    '112223330001811',
    '11.222.333/0001-81',
    '12ABC34501DE34',
    '12ABC34501DE45',
    '12abc34501de35',
    '12ABC34501DE3A',
    '12ÁBC34501DE35',
  ])('the check digits of %j are not valid', (text) => {
    expect(hasValidCheckDigits(text)).toBe(false);
  });

  it.each(Array.from({ length: 10 }, (_, digit) => String(digit)))(
    'a CPF and a CNPJ of which all digits are %s are not valid',
    (digit) => {
      expect([digit.repeat(11), digit.repeat(14)].map(hasValidCheckDigits)).toEqual([false, false]);
    },
  );

  it.each(['52998224725', '11222333000181', '12ABC34501DE35'])(
    'the check digits of %s detect any single digit that is mistyped as another digit',
    (valid) => {
      const digits = [...valid].flatMap((character, at) => (/\d/.test(character) ? [at] : []));
      fc.assert(
        fc.property(fc.constantFrom(...digits), fc.integer({ min: 1, max: 9 }), (at, by) => {
          const mistyped = valid.slice(0, at) + String((Number(valid[at]) + by) % 10) + valid.slice(at + 1);
          expect(hasValidCheckDigits(mistyped)).toBe(false);
        }),
      );
    },
  );
});

it('a document has the form of a CPF or of a CNPJ, whatever its check digits', () => {
  expect([...CPFS, ...CNPJS, '00000000000', 'ABCDEFGHIJKL00'].filter((text) => !isDocument(text))).toEqual([]);
  const others = ['12abc34501de35', 'ABCDEFGHIJKLMN', '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10', '11222333000181\n'];
  expect(others.filter(isDocument)).toEqual([]);
});

it.each([
  ['529.982.247-25', '52998224725'],
  ['529982247-25', '52998224725'],
  ['529.982.24725', '52998224725'],
  [' 529 982 247 25 ', '52998224725'],
  ['529.982.247\u201125\u202c', '52998224725'],
  ['５２９９８２２４７２５', '52998224725'],
  ['11.222.333/0001-81', '11222333000181'],
  ['12.ABC.345/01DE-35', '12ABC34501DE35'],
  ['11222333/000181', '11222333000181'],
])('%j is the document %s with punctuation', (text, document) => {
  expect(withoutPunctuation(text)).toBe(document);
});

it.each([
  ...['5.2998224725E10', '5,2998224725E10', '5.2998224725E+10', '1.2345678901E10', '1234567890.0', '1222333000181.0'],
  ...[
    '1234567890,0',
    '52998224725.0',
    '529982247.25',
    '5-2998224725',
    '52.998.224.725',
    '52998224725.',
    '-52998224725',
  ],
  ...['11.222.333.0001-81', '112.223.330/0018-1', '11222333/0001.81'],
])('%j is no document with punctuation', (text) => {
  expect(isDocument(withoutPunctuation(text))).toBe(false);
});

it('a masked CPF shows six digits, a masked CNPJ three characters of the company and the branch', () => {
  const message = "Duplicate entry '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10-%' for key 'uq_orders_document'";
  for (const [document, masked] of [
    ['52998224725', '***.982.247-**'],
    ['11222333000181', '**.***.333/0001-**'],
    ['12ABC34501DE35', '**.***.345/01DE-**'],
  ] as const)
    expect(maskDocuments(message.replace('%', document))).toBe(message.replace('%', masked));
});
