import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, Client } from '../client.js';
import type { EventPage, FeedEvent } from '../shop.js';

/** How long a reader that has read everything waits for more. */
const PAUSE_MS = 50;

/** Reads the feed of a merchant as a consumer does: by `after`, and again after a request without an answer. */
export class FeedReader {
  /** In the sequence in which they were read. */
  readonly events: FeedEvent[] = [];
  /** Responses that are neither a success nor a 503: the first ends the reading. */
  readonly unexpected: string[] = [];
  #after = 0;
  #end = Infinity;

  /** @param url of the instance to ask next. */
  constructor(
    private readonly token: string,
    private readonly url: () => string,
  ) {}

  /** Reads until the end that `end` sets. */
  async read(): Promise<void> {
    while (this.#after < this.#end) {
      const answer = await this.#ask().catch(() => undefined);
      if (answer?.status === 200) {
        this.events.push(...answer.body.data);
        this.#after = answer.body.next_after;
      } else if (answer !== undefined && answer.status !== 503) {
        this.unexpected.push(`${answer.status} ${JSON.stringify(answer.body)}`);
        return;
      }
      if (answer?.body.has_more !== true) await sleep(PAUSE_MS);
    }
  }

  /** Ends the reading at the event with this `sequence`. */
  end(sequence: number): void {
    this.#end = sequence;
  }

  /** The types of the events of an order or a debit, in their sequence. */
  typesOf(id: string): string[] {
    return this.events.filter(({ data }) => [data.order?.id, data.debit?.id].includes(id)).map(({ type }) => type);
  }

  #ask(): Promise<Answer<EventPage>> {
    return new Client({ url: this.url() }, this.token).once.get(`/events?after=${this.#after}`);
  }
}
