import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { AGAIN, type Outcome, Shared, type SharedRequest } from './shared.js';

/** Statements that end when the test says so. Their value for a key is the key in upper case. */
class Statements {
  readonly sent: string[][] = [];
  readonly #ends: (() => void)[] = [];

  readonly send = async (requests: readonly SharedRequest<string>[]): Promise<{ value: string }[]> => {
    const keys = requests.map(({ key }) => key);
    this.sent.push(keys);
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
    expect(statements.sent).toEqual([['a'], ['b'], ['c']]);
    await statements.end();
    expect(await values).toEqual(['A', 'B', 'C']);
  });
});

/** Transactions of keys such as `1:a`: the order 1 and the wallet a. They end when the test says so. */
class Transactions {
  readonly sent: string[] = [];
  readonly lockedElsewhere = new Set<string>();
  readonly #ends: (() => void)[] = [];
  readonly atOnce = 2;

  readonly lockOf = (key: string): string => `order ${key.split(':')[0]}`;

  readonly send = async (requests: readonly SharedRequest<string>[], isAlone: boolean): Promise<Outcome<string>[]> => {
    this.sent.push(requests.map(({ key }) => key).join(' '));
    const outcomes = requests.map((request): Outcome<string> => {
      const wallet = request.key.split(':')[1]!;
      if (!request.claim(`wallet ${wallet}`)) return AGAIN;
      return !isAlone && this.lockedElsewhere.has(wallet) ? 'locked' : { value: request.key };
    });
    await new Promise<void>((resolve) => this.#ends.push(resolve));
    return outcomes;
  };

  /** Ends a transaction that runs: by default, the one that began first. */
  async end(at = 0): Promise<void> {
    this.#ends.splice(at, 1)[0]?.();
    for (let tick = 0; tick < 3; tick++) await setImmediate();
  }
}

describe('a shared transaction', () => {
  it('has one use case per order, and the next one has those that waited for it', async () => {
    const transactions = new Transactions();
    const shared = new Shared(transactions, true);
    const values = Promise.all(['1:a', '2:a', '1:b', '3:c'].map((key) => shared.get(key)));
    await setImmediate();
    await transactions.end();
    await transactions.end();
    await transactions.end();
    expect(transactions.sent).toEqual(['1:a 2:a 3:c', '1:b']);
    expect(await values).toEqual(['1:a', '2:a', '1:b', '3:c']);
  });

  it('takes nothing that another running transaction has', async () => {
    const transactions = new Transactions();
    const shared = new Shared(transactions, true);
    const first = Promise.all(['1:a', '2:b'].map((key) => shared.get(key)));
    await setImmediate();
    const second = Promise.all(['1:c', '3:b', '4:d'].map((key) => shared.get(key)));
    await setImmediate();
    expect(transactions.sent).toEqual(['1:a 2:b', '3:b 4:d']);
    await transactions.end();
    expect(await first).toEqual(['1:a', '2:b']);
    await transactions.end();
    await transactions.end();
    await transactions.end();
    expect(transactions.sent.slice(2).join(' ').split(' ').sort()).toEqual(['1:c', '3:b']);
    expect(await second).toEqual(['1:c', '3:b', '4:d']);
  });

  it('leaves out what another process has locked, which goes alone and waits for it', async () => {
    const transactions = new Transactions();
    transactions.lockedElsewhere.add('b');
    const shared = new Shared(transactions, true);
    const [first, locked, last] = ['1:a', '2:b', '3:c'].map((key) => shared.get(key));
    await setImmediate();
    await transactions.end();
    expect(await Promise.all([first, last])).toEqual(['1:a', '3:c']);
    expect(transactions.sent).toEqual(['1:a 2:b 3:c', '2:b']);
    await transactions.end();
    expect(await locked).toBe('2:b');
  });

  it('does not let a request that comes alone overtake those that wait for the same wallet', async () => {
    const transactions = new Transactions();
    const shared = new Shared(transactions, true);
    const values = [shared.get('1:a')];
    await setImmediate();
    for (const key of ['2:a', '3:a']) {
      values.push(shared.get(key));
      await setImmediate();
      await transactions.end(1);
    }
    expect(transactions.sent).toEqual(['1:a', '2:a', '3:a']);
    await transactions.end();
    expect(transactions.sent.slice(3)).toEqual(['2:a 3:a']);
    await transactions.end();
    expect(await Promise.all(values)).toEqual(['1:a', '2:a', '3:a']);
  });

  it('has 20 use cases of a wallet, those that came first, and the next one has the others', async () => {
    const transactions = new Transactions();
    const shared = new Shared(transactions, true);
    const keys = Array.from({ length: 45 }, (_, at) => `${at}:a`);
    const values = Promise.all(keys.map((key) => shared.get(key)));
    for (let transaction = 0; transaction < 6; transaction++) {
      await setImmediate();
      await transactions.end();
    }
    expect(transactions.sent).toEqual([keys, keys.slice(20, 40), keys.slice(40)].map((those) => those.join(' ')));
    expect(await values).toEqual(keys);
  });
});
