import bcrypt from 'bcrypt';

/**
 * Records the comparisons of passwords by the services of this process, and holds them when a test asks for it. The
 * comparisons themselves are real.
 */
export class Comparisons {
  /** The cost of each comparison that a service asked for. */
  readonly costs: number[] = [];
  readonly #compare = bcrypt.compare.bind(bcrypt);
  #released: Promise<void> = Promise.resolve();
  #release: () => void = () => undefined;

  constructor() {
    bcrypt.compare = async (password: string | Buffer, hash: string): Promise<boolean> => {
      this.costs.push(bcrypt.getRounds(hash));
      await this.#released;
      return this.#compare(password, hash);
    };
  }

  /** Holds comparisons from now on. */
  hold(): void {
    this.costs.length = 0;
    this.#released = new Promise((resolve) => (this.#release = resolve));
  }

  /** Releases the held comparisons and stops holding new ones. */
  release(): void {
    this.#release();
  }

  /** Stops recording. */
  stop(): void {
    this.release();
    bcrypt.compare = this.#compare;
  }
}
