import { describe, expect, it } from '@jest/globals';
import { decodeCursor, encodeCursor } from './cursor.js';

const ID = '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10';
const asCursor = (json: string): string => Buffer.from(json).toString('base64url');

describe('a cursor', () => {
  it('decodes to the key that it encodes', () => {
    expect(decodeCursor(encodeCursor([1_763_646_300_123, ID]), 'number', 'string')).toEqual([1_763_646_300_123, ID]);
  });

  it('needs no encoding in a URL', () => {
    expect(encodeCursor([1_763_646_300_123, ID])).toMatch(/^[A-Za-z0-9_-]+$/);
  });

  it.each([
    ['nothing', ''],
    ['text that is not JSON', 'abc'],
    ['an object instead of an array', asCursor('{"length":2}')],
    ['null', asCursor('null')],
    ['too few parts', asCursor('[1]')],
    ['too many parts', asCursor(`[1,"${ID}",2]`)],
    ['parts in the wrong order', asCursor(`["${ID}",1]`)],
    ['a fraction', asCursor(`[1.5,"${ID}"]`)],
    ['an instant that is out of range', asCursor(`[8640000000000001,"${ID}"]`)],
    ['a text that is not an ID', asCursor('[1,"\' OR 1=1 --"]')],
    ['an object instead of an ID', asCursor('[1,{"$gt":""}]')],
  ])('of %s is refused as an error of its parameter', (_, cursor) => {
    expect(() => decodeCursor(cursor, 'number', 'string')).toThrow(
      expect.objectContaining({
        code: 'validation_failed',
        status: 400,
        errors: [expect.objectContaining({ parameter: 'cursor' })],
      }),
    );
  });
});
