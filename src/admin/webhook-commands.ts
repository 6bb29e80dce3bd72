import type { INestApplicationContext } from '@nestjs/common';
import { Command, Option } from 'commander';
import { FEED_EVENT_TYPES, type FeedEventType } from '../common/domain-event.js';
import { WebhookEndpointsService } from '../webhooks/webhook-endpoints.service.js';
import { runChange, runWithServices } from './application.js';
import { wholeNumber } from './arguments.js';
import { printRows } from './rows.js';

interface Options {
  merchant: string;
  url: string;
  types?: FeedEventType[];
  after: number;
}

type Action = (services: INestApplicationContext, id: string, options: Options) => Promise<unknown>;

export function webhookCommands(): Command {
  const webhook = new Command('webhook').description("merchants' webhook endpoints");
  const of = (name: string, description: string): Command =>
    webhook.command(name).description(description).requiredOption('--merchant <id>', 'the merchant');
  of('list', 'list the endpoints of a merchant').action(({ merchant }: Options) =>
    runWithServices(async (services) => {
      const endpoints = await services.get(WebhookEndpointsService).list(merchant);
      printRows(endpoints.map(({ last_attempt: _, ...row }) => row));
    }),
  );
  withContent(of('create', 'create an endpoint; its secret is printed once')).action(
    ({ merchant, ...content }: Options) =>
      runChange('webhook create', { merchant_id: merchant }, async (services) => {
        const result = await signing(services).create(merchant, content);
        return { result, changed: { endpoint_id: result.id } };
      }),
  );
  const ofOne = (name: string, description: string): Command => of(name, description).argument('<id>', 'the endpoint');
  ofOne('show', 'show an endpoint with its last attempt').action((id: string, { merchant }: Options) =>
    runWithServices((services) => services.get(WebhookEndpointsService).get(merchant, id)),
  );
  addChanges(ofOne);
  return webhook;
}

function addChanges(ofOne: (name: string, description: string) => Command): void {
  const add = (name: string, description: string, run: Action): Command =>
    ofOne(name, description).action((id: string, options: Options) =>
      runChange(`webhook ${name}`, { merchant_id: options.merchant, endpoint_id: id }, async (services) => ({
        result: await run(services, id, options),
        changed: { endpoint_id: id },
      })),
    );
  withContent(
    add('update', 'replace the URL and the types', (services, id, { merchant, ...content }) =>
      services.get(WebhookEndpointsService).replace(merchant, id, content),
    ),
  );
  add('delete', 'delete an endpoint', (services, id, { merchant }) =>
    services.get(WebhookEndpointsService).delete(merchant, id),
  );
  add('ping', 'send a test event, and print the outcome', (services, id, { merchant }) =>
    signing(services).ping(merchant, id),
  );
  add('enable', 'deliver again, from where it stopped', (services, id, { merchant }) =>
    services.get(WebhookEndpointsService).enable(merchant, id),
  );
  add('rotate-secret', 'add a secret, printed once; earlier ones sign for 24 hours too', (services, id, { merchant }) =>
    signing(services).rotateSecret(merchant, id),
  );
  add('seek', 'deliver the events after a sequence', (services, id, { merchant, after }) =>
    services.get(WebhookEndpointsService).seek(merchant, id, after),
  ).requiredOption('--after <sequence>', 'the sequence', wholeNumber(0, Number.MAX_SAFE_INTEGER));
}

const withContent = (command: Command): Command =>
  command
    .requiredOption('--url <url>', 'where to send events')
    .addOption(new Option('--types <types...>', 'the types to send; default: all').choices(FEED_EVENT_TYPES));

/** @throws Error without the service's secret, with which the secrets of endpoints are encrypted. */
function signing(services: INestApplicationContext): WebhookEndpointsService {
  if (!process.env.JWT_SECRET) throw new Error('JWT_SECRET must be that of the service');
  return services.get(WebhookEndpointsService);
}
