import { describe, expect, it } from '@jest/globals';
import { memberFault } from './to-dto.js';

const KNOWN = ['external_id', 'document', 'items', 'total', 'eligible_total', 'payment_methods', 'id'];
const detailOf = (name: string): string => memberFault({ parent: '', name, known: KNOWN }).detail;

describe('the error of an unknown member', () => {
  it.each([
    ['totl', 'total'],
    ['totaal', 'total'],
    ['totel', 'total'],
    ['toatl', 'total'],
    ['otal', 'total'],
    ['Total', 'total'],
    ['item', 'items'],
    ['payments_methods', 'payment_methods'],
    ['payment', 'payment_methods'],
    ['eligibleTotal', 'eligible_total'],
    ['eligible-total', 'eligible_total'],
    ['external_ID', 'external_id'],
    ['ID', 'id'],
    ['ids', 'id'],
  ])('the error of the unknown member %s suggests %s', (name, meant) => {
    expect(detailOf(name)).toBe(`is not a member of this request; did you mean "${meant}"?`);
  });

  it.each(['', 'to', 'i', 'tax', 'total_amount', 'customer', '__proto__', 'constructor', 'x'.repeat(1e6)])(
    'the error of the unknown member %j suggests nothing',
    (name) => {
      expect(detailOf(name)).toBe('is not a member of this request');
    },
  );

  it.each([
    ['', '/'],
    ['a/b', '/a~1b'],
    ['~', '/~0'],
    ['~1', '/~01'],
    ['m~n/o', '/m~0n~1o'],
    ['"', '/"'],
    ['x'.repeat(101), `/${'x'.repeat(100)}…`],
  ])('the pointer to the unknown member %j is %j, with the escapes of RFC 6901', (name, pointer) => {
    expect(memberFault({ parent: '/items/0', name, known: KNOWN }).pointer).toBe(`/items/0${pointer}`);
  });
});
