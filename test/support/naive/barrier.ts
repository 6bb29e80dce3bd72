/**
 * Makes use cases wait for each other between reading and writing, so that a race that fails sometimes fails every
 * time. A use case that is alone continues after a while.
 */
export class Barrier {
  #waiting: (() => void)[] = [];

  constructor(
    private readonly size: number,
    private readonly patienceMs = 2000,
  ) {}

  async arrive(): Promise<void> {
    await new Promise<void>((resume) => {
      this.#waiting.push(resume);
      if (this.#waiting.length >= this.size) this.#end();
      else setTimeout(() => this.#waiting.includes(resume) && this.#end(), this.patienceMs);
    });
  }

  #end(): void {
    for (const resume of this.#waiting.splice(0)) resume();
  }
}
