import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { SharedStatement } from './shared-statements.js';

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
    await setImmediate();
    while (this.#ends.length > 0) {
      for (const end of this.#ends.splice(0)) end();
      await setImmediate();
      await setImmediate();
    }
  }
}

const one = (): number => 1;

describe('a shared statement', () => {
  it('keys that come together go together, and keys that come while a statement runs go in the next one', async () => {
    const statements = new Statements();
    const shared = new SharedStatement(statements.send, one, true);
    const first = Promise.all(['a', 'b'].map((key) => shared.get(key)));
    await setImmediate();
    expect(statements.sent).toEqual([['a', 'b']]);
    const next = Promise.all(['c', 'd', 'e'].map((key) => shared.get(key)));
    await setImmediate();
    expect(statements.sent).toEqual([['a', 'b']]);
    await statements.end();
    expect(statements.sent).toEqual([
      ['a', 'b'],
      ['c', 'd', 'e'],
    ]);
    expect([...(await first), ...(await next)]).toEqual(['A', 'B', 'C', 'D', 'E']);
  });

  it('a key whose statement fails is refused alone', async () => {
    const statements = new Statements();
    const shared = new SharedStatement(statements.send, one, true);
    const settled = Promise.allSettled(['a', 'refused', 'b'].map((key) => shared.get(key)));
    await statements.end();
    expect(statements.sent).toEqual([['a', 'refused', 'b'], ['a'], ['refused'], ['b']]);
    expect(
      (await settled).map((result) => (result.status === 'fulfilled' ? result.value : (result.reason as Error))),
    ).toEqual(['A', new Error('refused'), 'B']);
  });

  it('a statement has a maximum size, and a larger key goes alone', async () => {
    const statements = new Statements();
    const shared = new SharedStatement(statements.send, (key) => (key === 'large' ? 500 : 90), true);
    const values = Promise.all(['a', 'b', 'c', 'large', 'd'].map((key) => shared.get(key)));
    await statements.end();
    expect(statements.sent).toEqual([['a', 'b'], ['c'], ['large'], ['d']]);
    expect(await values).toHaveLength(5);
  });

  it('a slow statement does not hold back later keys', async () => {
    const statements = new Statements();
    const shared = new SharedStatement(statements.send, one, true);
    const slow = shared.get('a');
    await setImmediate();
    const later = shared.get('b');
    while (statements.sent.length < 2) await setImmediate();
    expect(statements.sent).toEqual([['a'], ['b']]);
    await statements.end();
    expect([await slow, await later]).toEqual(['A', 'B']);
  });

  it('without sizes, each key has its own statement', async () => {
    const statements = new Statements();
    const shared = new SharedStatement(statements.send, one, false);
    const values = Promise.all(['a', 'b', 'c'].map((key) => shared.get(key)));
    expect(statements.sent).toEqual([['a'], ['b'], ['c']]);
    await statements.end();
    expect(await values).toEqual(['A', 'B', 'C']);
  });
});
