import { expect, it } from '@jest/globals';
import { beforeIdsOf, newId, UUID } from './ids.js';

it('IDs of an instant are UUIDs v7 in the order in which they were made', () => {
  const at = new Date();
  const ids = Array.from({ length: 10_000 }, () => newId(at));
  expect(ids).toEqual([...ids].sort());
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) {
    expect(id).toMatch(UUID);
    expect(id.slice(14, 20)).toMatch(/^7[0-9a-f]{3}-8/);
    expect(id > beforeIdsOf(at) && id < beforeIdsOf(new Date(at.getTime() + 1))).toBe(true);
  }
});
