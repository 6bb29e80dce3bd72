import { describe, expect, it } from '@jest/globals';
import { decodeCursor, encodeCursor } from './lists.js';

const ID = '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10';
const asCursor = (json: string): string => Buffer.from(json).toString('base64url');

describe('cursors', () => {
  it('decodeCursor returns the key that was encoded', () => {
    const key = [1_763_646_300_123, ID];
    expect(decodeCursor('orders', encodeCursor('orders', key), ['number', 'string'])).toEqual(key);
  });

  it('a cursor contains only characters that need no URL encoding', () => {
    expect(encodeCursor('orders', [1_763_646_300_123, ID])).toMatch(/^[A-Za-z0-9_-]+$/);
  });

  it.each([
    ['nothing', ''],
    ['text that is not JSON', 'abc'],
    ['an object', asCursor('{"length":2}')],
    ['null', asCursor('null')],
    ['too few parts', asCursor('["orders",1]')],
    ['too many parts', asCursor(`["orders",1,"${ID}",2]`)],
    ['a key of another list', asCursor(`["refunds",1,"${ID}"]`)],
    ['a key of no list', asCursor(`[1,"${ID}"]`)],
    ['parts in the wrong order', asCursor(`["orders","${ID}",1]`)],
    ['a fraction', asCursor(`["orders",1.5,"${ID}"]`)],
    ['an instant outside the range of Date', asCursor(`["orders",8640000000000001,"${ID}"]`)],
    ['text that is not an ID', asCursor('["orders",1,"\' OR 1=1 --"]')],
    ['an object instead of an ID', asCursor('["orders",1,{"$gt":""}]')],
  ])('decodeCursor rejects a cursor made of %s with an error for the parameter', (_, cursor) => {
    expect(() => decodeCursor('orders', cursor, ['number', 'string'])).toThrow(
      expect.objectContaining({
        code: 'validation_failed',
        status: 400,
        errors: [expect.objectContaining({ parameter: 'cursor' })],
      }),
    );
  });
});
