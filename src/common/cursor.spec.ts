import { describe, expect, it } from '@jest/globals';
import { decodeCursor, encodeCursor } from './cursor.js';

const ID = '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10';
const asCursor = (json: string): string => Buffer.from(json).toString('base64url');

describe('cursors', () => {
  it('decodeCursor returns the key that was encoded', () => {
    expect(decodeCursor(encodeCursor([1_763_646_300_123, ID]), ['number', 'string'])).toEqual([1_763_646_300_123, ID]);
  });

  it('a cursor contains only characters that need no URL encoding', () => {
    expect(encodeCursor([1_763_646_300_123, ID])).toMatch(/^[A-Za-z0-9_-]+$/);
  });

  it.each([
    ['nothing', ''],
    ['text that is not JSON', 'abc'],
    ['an object', asCursor('{"length":2}')],
    ['null', asCursor('null')],
    ['too few parts', asCursor('[1]')],
    ['too many parts', asCursor(`[1,"${ID}",2]`)],
    ['parts in the wrong order', asCursor(`["${ID}",1]`)],
    ['a fraction', asCursor(`[1.5,"${ID}"]`)],
    ['an instant outside the range of Date', asCursor(`[8640000000000001,"${ID}"]`)],
    ['text that is not an ID', asCursor('[1,"\' OR 1=1 --"]')],
    ['an object instead of an ID', asCursor('[1,{"$gt":""}]')],
  ])('decodeCursor rejects a cursor made of %s with an error for the parameter', (_, cursor) => {
    expect(() => decodeCursor(cursor, ['number', 'string'])).toThrow(
      expect.objectContaining({
        code: 'validation_failed',
        status: 400,
        errors: [expect.objectContaining({ parameter: 'cursor' })],
      }),
    );
  });
});
