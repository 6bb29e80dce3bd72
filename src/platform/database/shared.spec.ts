import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, jest } from '@jest/globals';
import { type Outcome, Shared } from './shared.js';

/** Statements that end when the test says so. Their value for a key is the key in upper case. */
class Statements {
  readonly sent: string[][] = [];
  readonly #ends: (() => void)[] = [];

  readonly send = async (keys: readonly string[]): Promise<{ value: string }[]> => {
    this.sent.push([...keys]);
    await new Promise<void>((resolve) => this.#ends.push(resolve));
    const refused = keys.find((key) => key.startsWith('refused'));
    if (refused !== undefined) throw new Error(refused);
    return keys.map((key) => ({ value: key.toUpperCase() }));
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

describe('a shared statement', () => {
  it('keys that come together go together, and keys that come while a statement runs go in the next one', async () => {
    const statements = new Statements();
    const shared = new Shared(statements, true);
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
    const shared = new Shared(statements, true);
    const settled = Promise.allSettled(['a', 'refused', 'b'].map((key) => shared.get(key)));
    await statements.end();
    expect(statements.sent).toEqual([['a', 'refused', 'b'], ['a'], ['refused'], ['b']]);
    expect(
      (await settled).map((result) => (result.status === 'fulfilled' ? result.value : (result.reason as Error))),
    ).toEqual(['A', new Error('refused'), 'B']);
  });

  it('a statement has a maximum size, and a larger key goes alone', async () => {
    const statements = new Statements();
    const shared = new Shared({ send: statements.send, sizeOf: (key) => (key === 'large' ? 500 : 90) }, true);
    const values = Promise.all(['a', 'b', 'c', 'large', 'd'].map((key) => shared.get(key)));
    await statements.end();
    expect(statements.sent).toEqual([['a', 'b'], ['c'], ['large'], ['d']]);
    expect(await values).toHaveLength(5);
  });

  it('a slow statement does not hold back later keys', async () => {
    const statements = new Statements();
    const shared = new Shared(statements, true);
    const slow = shared.get('a');
    await setImmediate();
    const later = shared.get('b');
    while (statements.sent.length < 2) await setImmediate();
    expect(statements.sent).toEqual([['a'], ['b']]);
    await statements.end();
    expect([await slow, await later]).toEqual(['A', 'B']);
  });

  it('without sharing, each key has its own statement', async () => {
    const statements = new Statements();
    const shared = new Shared(statements, false);
    const values = Promise.all(['a', 'b', 'c'].map((key) => shared.get(key)));
    await setImmediate();
    expect(statements.sent).toEqual([['a'], ['b'], ['c']]);
    await statements.end();
    expect(await values).toEqual(['A', 'B', 'C']);
  });
});

/** Transactions of keys such as `1:a`: the order 1 and the wallet a. They end when the test says so. */
class Transactions {
  readonly sent: string[] = [];
  readonly locked = new Set<string>();
  readonly #ends: (() => void)[] = [];
  most = Infinity;

  readonly idOf = (key: string): string => key.split(':')[0]!;

  readonly send = async (keys: readonly string[], waits: boolean): Promise<Outcome<string>[]> => {
    this.sent.push(keys.join(' '));
    await new Promise<void>((resolve) => this.#ends.push(resolve));
    return keys.map((key) => {
      const wallet = key.split(':')[1]!;
      return !waits && this.locked.has(wallet) ? { behind: wallet } : { value: key };
    });
  };

  /** Ends a transaction that runs: by default, the one that began first. */
  async end(at = 0): Promise<void> {
    this.#ends.splice(at, 1)[0]?.();
    for (let tick = 0; tick < 3; tick++) await setImmediate();
  }
}

describe('a shared transaction', () => {
  const started = async (keys: string[], locked?: string, most = Infinity) => {
    const transactions = new Transactions();
    transactions.most = most;
    if (locked !== undefined) transactions.locked.add(locked);
    const shared = new Shared(transactions, true);
    const values = Promise.all(keys.map((key) => shared.get(key)));
    await setImmediate();
    return { transactions, shared, values };
  };

  it('has one use case per order, and the next one, which begins when it has ended, has the others', async () => {
    const { transactions, shared, values } = await started(['1:a', '2:a', '1:b', '3:c']);
    const last = shared.get('4:d');
    await setImmediate();
    expect(transactions.sent).toEqual(['1:a 2:a 3:c']);
    await transactions.end();
    expect(transactions.sent).toEqual(['1:a 2:a 3:c', '1:b 4:d']);
    await transactions.end();
    expect([await values, await last]).toEqual([['1:a', '2:a', '1:b', '3:c'], '4:d']);
  });

  it('leaves out what is locked, for which one transaction at a time waits, and which delays nothing else', async () => {
    const { transactions, shared, values } = await started(['1:a', '2:b', '3:c', '4:b'], 'b');
    await transactions.end();
    expect(transactions.sent).toEqual(['1:a 2:b 3:c 4:b', '2:b 4:b']);
    const later = [shared.get('5:b'), shared.get('6:a')];
    await setImmediate();
    await transactions.end(1);
    expect(transactions.sent).toEqual(['1:a 2:b 3:c 4:b', '2:b 4:b', '5:b 6:a']);
    expect(await later[1]).toBe('6:a');
    await transactions.end();
    expect(await values).toEqual(['1:a', '2:b', '3:c', '4:b']);
    expect(transactions.sent.at(-1)).toBe('5:b');
    await transactions.end();
    expect(await later[0]).toBe('5:b');
  });

  it('refuses what has waited for too long behind a lock', async () => {
    const { transactions, values } = await started(['1:a', '2:a'], 'a', 1);
    await transactions.end();
    await transactions.end(1);
    const now = performance.now();
    const clock = jest.spyOn(performance, 'now').mockReturnValue(now + 3500);
    const settled = Promise.allSettled([values]);
    await transactions.end();
    expect(await settled).toMatchObject([{ reason: { code: 'unavailable' } }]);
    clock.mockRestore();
    expect(transactions.sent).toEqual(['1:a', '1:a', '2:a']);
  });

  it('has a maximum of use cases, those that came first', async () => {
    const keys = Array.from({ length: 5 }, (_, at) => `${at}:a`);
    const { transactions, values } = await started(keys, undefined, 2);
    for (let transaction = 0; transaction < 3; transaction++) await transactions.end();
    expect(transactions.sent).toEqual(['0:a 1:a', '2:a 3:a', '4:a']);
    expect(await values).toEqual(keys);
  });
});
