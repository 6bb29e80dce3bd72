const TERMINAL_INTERVAL_MS = 500;
const LOG_INTERVAL_MS = 5000;

/** Shows the progress of a long command on stderr: one line that changes on a terminal, otherwise a line every 5 s. */
export class Progress {
  readonly #isTerminal = process.stderr.isTTY;
  #saidAt = Date.now();
  #isShown = false;

  /** @param text is called only if it is time to show it. */
  say(text: () => string): void {
    if (Date.now() - this.#saidAt < (this.#isTerminal ? TERMINAL_INTERVAL_MS : LOG_INTERVAL_MS)) return;
    this.#saidAt = Date.now();
    this.#isShown = true;
    if (this.#isTerminal) process.stderr.write(`\r\u001b[K${text()}`);
    else console.error(text());
  }

  /** Leaves the last line on the terminal. */
  end(): void {
    if (this.#isTerminal && this.#isShown) process.stderr.write('\n');
  }
}
