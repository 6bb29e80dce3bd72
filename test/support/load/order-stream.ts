import { Agent, request } from 'node:http';
import { anOrder } from '../factories.js';

/** A request for a new order and its result. Without a status, there was no complete response. */
interface SentOrder {
  externalId: string;
  sentAt: number;
  status?: number;
  orderId?: string;
  error?: string;
}

/** Creates orders over `connections` connections until the service stops listening, and records each result. */
export class OrderStream {
  readonly sent: SentOrder[] = [];

  constructor(
    private readonly url: string,
    private readonly token: string,
  ) {}

  /**
   * Every second worker reuses its connection while the service allows it. The others open a new one for each request.
   */
  async work(workers: number): Promise<void> {
    await Promise.all(Array.from({ length: workers }, (_, number) => this.#worker(number % 2 === 0)));
  }

  async #worker(keepAlive: boolean): Promise<void> {
    const agent = new Agent({ keepAlive, maxSockets: 1 });
    try {
      for (;;) {
        const order = await this.#send(agent);
        if (order.error === 'ECONNREFUSED') return;
      }
    } finally {
      agent.destroy();
    }
  }

  #send(agent: Agent): Promise<SentOrder> {
    const body = anOrder();
    const order: SentOrder = { externalId: body.external_id, sentAt: Date.now() };
    this.sent.push(order);
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${this.token}` };
    return new Promise((resolve) => {
      const fail = (error: NodeJS.ErrnoException): void => {
        order.error = error.code ?? error.message;
        resolve(order);
      };
      const call = request(new URL('/orders', this.url), { method: 'POST', agent, headers }, (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => (text += chunk.toString()));
        response.on('error', fail);
        response.on('end', () => {
          order.status = response.statusCode ?? 0;
          if (order.status === 201) order.orderId = (JSON.parse(text) as { id: string }).id;
          resolve(order);
        });
      });
      call.on('error', fail);
      call.setTimeout(15_000, () => call.destroy(new Error('no answer within 15 s')));
      call.end(JSON.stringify(body));
    });
  }
}
