/** The random decisions of one operation. fast-check shrinks the numbers: the first choice is the simplest. */
export class Dice {
  #next = 0;

  constructor(private readonly numbers: number[]) {}

  upTo(limit: number): number {
    const number = this.numbers[this.#next++ % this.numbers.length] ?? 0;
    // The numbers repeat after a while, so that later decisions differ from earlier ones.
    return ((number ^ Math.imul(Math.floor(this.#next / (this.numbers.length + 1)), 0x9e3779b1)) >>> 0) % limit;
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.upTo(choices.length)] as T;
  }

  /** Whether something happens that happens once in `times`. */
  once(times: number): boolean {
    return this.upTo(times) === times - 1;
  }

  amountUpTo(limit: bigint): bigint {
    return BigInt(this.upTo(Number(limit) + 1));
  }
}
