import bcrypt from 'bcrypt';

/**
 * Records the password comparisons of the service, and holds them when a test asks for it. It counts the hashes of new
 * passwords. The comparisons and the hashes are real.
 * (The service and the test share the module.)
 */
export class Comparisons {
  /** The hash of each comparison that was started. */
  readonly hashes: string[] = [];
  /** How many new passwords were hashed. */
  hashed = 0;
  readonly #compare = bcrypt.compare;
  readonly #hash = bcrypt.hash;
  #held: (() => void)[] = [];
  #isHolding = false;

  constructor() {
    bcrypt.compare = async (password: string | Buffer, hash: string): Promise<boolean> => {
      this.hashes.push(hash);
      if (this.#isHolding) await new Promise<void>((resolve) => this.#held.push(resolve));
      return this.#compare(password, hash);
    };
    bcrypt.hash = (password: string | Buffer, cost: string | number): Promise<string> => {
      this.hashed++;
      return this.#hash(password, cost);
    };
  }

  /** The cost of each comparison that was started. */
  get costs(): number[] {
    return this.hashes.map((hash) => bcrypt.getRounds(hash));
  }

  /** Forgets what was recorded, and holds comparisons from now on. */
  hold(): void {
    this.hashes.length = 0;
    this.#isHolding = true;
  }

  /** Lets the held comparisons run, and stops holding new ones. */
  release(): void {
    this.#isHolding = false;
    for (const run of this.#held.splice(0)) run();
  }

  /** Lets the comparison that was held first run, and holds the others. */
  releaseOne(): void {
    this.#held.shift()?.();
  }

  /** Stops recording. */
  stop(): void {
    this.release();
    bcrypt.compare = this.#compare;
    bcrypt.hash = this.#hash;
  }
}
