/**
 * Makes use cases wait for each other between reading and writing, so that a race that fails sometimes fails every
 * time. A use case that is alone continues after a while.
 */
export class Meeting {
  #waiting: (() => void)[] = [];

  constructor(
    private readonly size: number,
    private readonly patienceMs = 2000,
  ) {}

  async arrive(): Promise<void> {
    await new Promise<void>((goOn) => {
      this.#waiting.push(goOn);
      if (this.#waiting.length >= this.size) this.#end();
      else setTimeout(() => this.#waiting.includes(goOn) && this.#end(), this.patienceMs);
    });
  }

  #end(): void {
    for (const goOn of this.#waiting.splice(0)) goOn();
  }
}
