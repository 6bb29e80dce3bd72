import type { FeedPage, OrderMessage } from './messages.js';
import { Mirror } from './mirror.js';

export interface Answer<T> {
  status: number;
  body: T;
}

/** A shop's system, written from docs/ alone: its session, its requests, and the feed where webhooks did not reach. */
export class Shop {
  readonly mirror = new Mirror();
  private token = '';

  /** `baseUrl` returns the address of the service for each attempt, as a load balancer would. */
  constructor(
    private readonly baseUrl: () => string,
    private readonly credentials: { email: string; password: string },
  ) {}

  /** Sends a request again until there is an answer that says more than "later". */
  async request<T>(method: string, path: string, body?: object): Promise<Answer<T>> {
    for (;;) {
      const answer = await this.attempt<T>(method, path, body).catch(() => undefined);
      if (answer?.status === 401 && path !== '/auth/login') {
        await this.logIn();
      } else if (answer && !(answer.body as { retryable?: boolean } | undefined)?.retryable) {
        return answer;
      } else {
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  /** `POST /orders`; its response is where the copy of an order begins. */
  async createOrder(content: object): Promise<Answer<OrderMessage>> {
    const answer = await this.request<OrderMessage>('POST', '/orders', content);
    if (answer.status === 201) {
      this.mirror.storeOrder(answer.body);
    }
    return answer;
  }

  /** Creates the endpoint, or takes over the one whose response was lost; returns its ID and secret. */
  async createEndpoint(url: string): Promise<{ id: string; secret: string }> {
    type Created = { id: string; secret: string; existing_id: string };
    const { status, body } = await this.request<Created>('POST', '/webhook-endpoints', { url });
    if (status !== 409) {
      return body;
    }
    return (await this.request<Created>('POST', `/webhook-endpoints/${body.existing_id}/rotate-secret`)).body;
  }

  /** Reads the feed to its end, from where the mirror is; returns where it got. */
  async readFeed(): Promise<number> {
    let after = this.mirror.position;
    for (;;) {
      const { body } = await this.request<FeedPage>('GET', `/events?after=${after}&limit=100`);
      body.data.forEach((event) => this.mirror.store(event));
      after = body.next_after;
      if (!body.has_more) {
        return after;
      }
    }
  }

  /** Lets an endpoint that was disabled go on after what was read from the feed. */
  async resume(endpointId: string, after: number): Promise<void> {
    await this.request('POST', `/webhook-endpoints/${endpointId}/seek`, { after });
    await this.request('POST', `/webhook-endpoints/${endpointId}/enable`);
  }

  private async logIn(): Promise<void> {
    const { status, body } = await this.request<{ access_token: string }>('POST', '/auth/login', this.credentials);
    if (status !== 201) {
      throw new Error(`the shop cannot log in: ${status}`);
    }
    this.token = body.access_token;
  }

  private async attempt<T>(method: string, path: string, body?: object): Promise<Answer<T>> {
    const response = await fetch(this.baseUrl() + path, {
      method,
      headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' },
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(10_000),
    });
    const text = await response.text();
    return { status: response.status, body: (text ? JSON.parse(text) : undefined) as T };
  }
}
