import { describe, expect, it } from '@jest/globals';
import { type GrantLine, GrantTurns } from './credit-import.js';

const aLine = (number: number, externalId: string): GrantLine => ({
  number,
  grant: { document: '52998224725', amountCents: number, externalId },
});

describe('GrantTurns', () => {
  it('a line waits for an earlier one with its external ID, and not for others', async () => {
    const begun: number[] = [];
    const ends = new Map<number, () => void>();
    const turns = new GrantTurns(async ({ number }) => {
      begun.push(number);
      await new Promise<void>((resolve) => ends.set(number, resolve));
      return 'granted';
    });
    const outcomes = [aLine(1, 'A'), aLine(2, 'B'), aLine(3, 'A')].map((line) => turns.take(line));
    await new Promise(setImmediate);
    expect(begun).toEqual([1, 2]);
    ends.get(1)!();
    await outcomes[0];
    await new Promise(setImmediate);
    expect(begun).toEqual([1, 2, 3]);
    for (const number of [2, 3]) ends.get(number)!();
    expect(await Promise.all(outcomes)).toEqual(['granted', 'granted', 'granted']);
  });

  it('a line waits for an earlier one that still runs after 150,000 others', async () => {
    let end = (): void => undefined;
    const turns = new GrantTurns(({ number }, first) =>
      number === 0
        ? new Promise((resolve) => (end = () => resolve('granted')))
        : Promise.resolve(first === undefined ? 'granted' : ['amount differs from the earlier request']),
    );
    const slow = turns.take(aLine(0, 'SLOW'));
    for (let number = 1; number <= 150_000; number++) await turns.take(aLine(number, `${number}`));
    const later = turns.take(aLine(150_001, 'SLOW'));
    end();
    expect(await Promise.all([slow, later])).toEqual(['granted', ['amount differs from line 0']]);
  });

  it('a line fails if an earlier one with its external ID fails', async () => {
    const granted: number[] = [];
    const turns = new GrantTurns(({ number }) => {
      granted.push(number);
      return number === 1 ? Promise.reject(new Error('the database is unreachable')) : Promise.resolve('granted');
    });
    const outcomes = [aLine(1, 'A'), aLine(2, 'A'), aLine(3, 'B')].map((line) => turns.take(line));
    expect((await Promise.allSettled(outcomes)).map(({ status }) => status)).toEqual([
      'rejected',
      'rejected',
      'fulfilled',
    ]);
    await expect(turns.take(aLine(4, 'A'))).rejects.toThrow('unreachable');
    expect(granted).toEqual([1, 3]);
  });

  it('a line is given the first line without errors that has its external ID', async () => {
    const firsts: (number | undefined)[] = [];
    const turns = new GrantTurns(({ number }, first) => {
      firsts.push(first?.number);
      return Promise.resolve(number === 2 ? 'existing' : ['amount differs from the earlier request']);
    });
    const outcomes = await Promise.all([1, 2, 3, 4].map((number) => turns.take(aLine(number, 'A'))));
    expect(firsts).toEqual([undefined, undefined, 2, 2]);
    const [earlier, second] = ['the earlier request', 'line 2'].map((what) => [`amount differs from ${what}`]);
    expect(outcomes).toEqual([earlier, 'existing', second, second]);
  });
});
