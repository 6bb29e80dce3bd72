import { describe, expect, it } from '@jest/globals';
import { cleanDocument } from '../../clients/typescript/src/index.js';
import { fromCentavos, fromMinor, splitRefund, toCentavos, toMinor } from '../../clients/typescript/src/money.js';

describe('money of the TypeScript client', () => {
  it.each([
    ['150.00', 15000n],
    ['150', 15000n],
    ['0.5', 50n],
    ['-7.05', -705n],
    ['0.00', 0n],
    ['999999999.99', 99999999999n],
  ])('"%s" is %s centavos', (amount, centavos) => {
    expect(toCentavos(amount)).toBe(centavos);
    expect(toCentavos(fromCentavos(centavos))).toBe(centavos);
  });

  it.each(['', '.', '1,00', '1.000', ' 1', '1e3', '+1', 'R$ 1', '1.', '--1'])('"%s" is no amount', (amount) => {
    expect(() => toCentavos(amount)).toThrow(TypeError);
  });

  it('centavos have two decimals as text', () => {
    expect([0n, 5n, -5n, 15000n, -705n].map(fromCentavos)).toEqual(['0.00', '0.05', '-0.05', '150.00', '-7.05']);
  });

  it.each([
    [2998, '29.98'],
    [5, '0.05'],
    [-705, '-7.05'],
    [99999999999, '999999999.99'],
  ])('%d centavos of a shop are "%s"', (minor, amount) => {
    expect(fromMinor(minor)).toBe(amount);
    expect(toMinor(amount)).toBe(minor);
  });

  it.each([0.5, NaN, Infinity, 2 ** 53])('%d is no number of centavos', (minor) => {
    expect(() => fromMinor(minor)).toThrow(TypeError);
  });

  const payments = [
    { id: 'pix', amount: '20.00', refunded: '5.01' },
    { id: 'gift', amount: '10', refunded: '10.00' },
    { id: 'card', amount: '80.00' },
  ];

  it.each([
    ['0.00', []],
    ['14.99', [['pix', '14.99']]],
    [
      '15.00',
      [
        ['pix', '14.99'],
        ['card', '0.01'],
      ],
    ],
    [
      '94.99',
      [
        ['pix', '14.99'],
        ['card', '80.00'],
      ],
    ],
  ])('%s is paid back by the payments in their order, each at most with what is left of it', (amount, parts) => {
    expect(splitRefund(amount, payments).map((part) => [part.id, part.amount])).toEqual(parts);
  });

  it.each(['95.00', '-0.01', '1,00'])('%s cannot be paid back', (amount) => {
    expect(() => splitRefund(amount, payments)).toThrow(TypeError);
  });
});

describe('cleanDocument of the TypeScript client', () => {
  it.each([
    ['529.982.247-25', '52998224725'],
    [' 52998224725 ', '52998224725'],
    ['12.abc.345/01de-35', '12ABC34501DE35'],
  ])('"%s" is the document %s', (text, document) => {
    expect(cleanDocument(text)).toBe(document);
  });

  it.each([undefined, null, '', '000.000.000-00', '5299822472', '12.ABC.345/01DE-3X', 'ana@example.com'])(
    '%p is no document',
    (text) => {
      expect(cleanDocument(text)).toBeUndefined();
    },
  );
});
