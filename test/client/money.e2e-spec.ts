import { describe, expect, it } from '@jest/globals';
import { fromCentavos, toCentavos } from '../../clients/typescript/src/money.js';

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
});
