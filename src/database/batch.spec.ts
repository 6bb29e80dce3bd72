import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { Problem } from '../common/problem.js';
import { Batch } from './batch.js';

const waits = (): boolean => false;

/** Statements that end when the test says so. Their value for a key is the key in upper case. */
class Statements {
  readonly sent: string[][] = [];
  readonly #ends: (() => void)[] = [];

  readonly send = async (keys: readonly string[]): Promise<string[]> => {
    this.sent.push([...keys]);
    await new Promise<void>((resolve) => this.#ends.push(resolve));
    const refused = keys.find((key) => key.startsWith('refused'));
    if (refused !== undefined) throw new Error(refused);
    return keys.map((key) => key.toUpperCase());
  };

  /** Ends all statements, and those that follow. */
  async end(): Promise<void> {
    while (this.#ends.length > 0) {
      for (const end of this.#ends.splice(0)) end();
      await setImmediate();
    }
  }
}

const one = (): number => 1;

describe('a batch', () => {
  it('a key is sent at once, and keys that come while two statements run go together in the next one', async () => {
    const statements = new Statements();
    const batch = new Batch(statements.send, one);
    const values = Promise.all(['a', 'b', 'c', 'd', 'e'].map((key) => batch.get(key, waits)));
    expect(statements.sent).toEqual([['a'], ['b']]);
    await statements.end();
    expect(statements.sent).toEqual([['a'], ['b'], ['c', 'd', 'e']]);
    expect(await values).toEqual(['A', 'B', 'C', 'D', 'E']);
  });

  it('a key whose statement fails is refused alone', async () => {
    const statements = new Statements();
    const batch = new Batch(statements.send, one);
    const settled = Promise.allSettled(['a', 'b', 'c', 'refused', 'd'].map((key) => batch.get(key, waits)));
    await statements.end();
    expect(statements.sent).toEqual([['a'], ['b'], ['c', 'refused', 'd'], ['c'], ['refused'], ['d']]);
    expect((await settled).map((result) => (result.status === 'fulfilled' ? result.value : result.reason))).toEqual([
      ...['A', 'B', 'C'],
      new Error('refused'),
      'D',
    ]);
  });

  it('a batch has a maximum size, and a larger key goes alone', async () => {
    const statements = new Statements();
    const batch = new Batch(statements.send, (key) => (key === 'large' ? 500 : 90));
    const values = Promise.all(['a', 'b', 'c', 'd', 'e', 'large', 'f'].map((key) => batch.get(key, waits)));
    await statements.end();
    expect(statements.sent.slice(2)).toEqual([['c', 'd'], ['e'], ['large'], ['f']]);
    expect(await values).toHaveLength(7);
  });

  it('a key whose client no longer waits is not sent', async () => {
    const statements = new Statements();
    const batch = new Batch(statements.send, one);
    let isAnswered = false;
    const settled = Promise.allSettled([
      batch.get('a', waits),
      batch.get('b', waits),
      batch.get('gone', () => isAnswered),
      batch.get('c', waits),
    ]);
    isAnswered = true;
    await statements.end();
    expect(statements.sent).toEqual([['a'], ['b'], ['c']]);
    expect((await settled)[2]).toEqual({ status: 'rejected', reason: expect.any(Problem) });
  });

  it('two slow statements do not hold back later keys', async () => {
    const statements = new Statements();
    const batch = new Batch(statements.send, one);
    const values = Promise.all(['a', 'b', 'c'].map((key) => batch.get(key, waits)));
    while (statements.sent.length < 3) await setImmediate();
    expect(statements.sent).toEqual([['a'], ['b'], ['c']]);
    await statements.end();
    expect(await values).toEqual(['A', 'B', 'C']);
  });

  it('without sizes, each key has its own statement', async () => {
    const statements = new Statements();
    const batch = new Batch(statements.send, undefined);
    const values = Promise.all(['a', 'b', 'c'].map((key) => batch.get(key, waits)));
    expect(statements.sent).toEqual([['a'], ['b'], ['c']]);
    await statements.end();
    expect(await values).toEqual(['A', 'B', 'C']);
  });
});
