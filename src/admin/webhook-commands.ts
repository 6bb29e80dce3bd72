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
  ofMerchant(webhook.command('list').description('list the endpoints of a merchant')).action(({ merchant }: Options) =>
    runWithServices(async (services) => {
      const endpoints = await services.get(WebhookEndpointsService).list(merchant);
      printRows(endpoints.map(({ last_attempt: _, ...row }) => row));
    }),
  );
  const show = webhook
    .command('show')
    .description('show an endpoint with its last attempt')
    .argument('<id>', 'the endpoint');
  ofMerchant(show).action((id: string, { merchant }: Options) =>
    runWithServices((services) => services.get(WebhookEndpointsService).get(merchant, id)),
  );
  const create = webhook.command('create').description('create an endpoint; its secret is printed once');
  withContent(ofMerchant(create)).action(({ merchant, ...content }: Options) =>
    runChange('webhook create', { merchant_id: merchant }, async (services) => {
      const result = await signing(services).create(merchant, content);
      return { result, changed: { endpoint_id: result.id } };
    }),
  );
  addChanges(webhook);
  return webhook;
}

function addChanges(webhook: Command): void {
  const add = (name: string, description: string, run: Action): Command =>
    ofMerchant(webhook.command(name).description(description).argument('<id>', 'the endpoint')).action(
      (id: string, options: Options) =>
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
  add(
    'rotate-secret',
    'add a secret, which is printed once; for 24 hours earlier ones sign too',
    (services, id, options) => signing(services).rotateSecret(options.merchant, id),
  );
  add('seek', 'deliver the events after a sequence', (services, id, { merchant, after }) =>
    services.get(WebhookEndpointsService).seek(merchant, id, after),
  ).requiredOption('--after <sequence>', 'the sequence', wholeNumber(0, Number.MAX_SAFE_INTEGER));
}

const ofMerchant = (command: Command): Command => command.requiredOption('--merchant <id>', 'the merchant');

const withContent = (command: Command): Command =>
  command
    .requiredOption('--url <url>', 'where to send events')
    .addOption(new Option('--types <types...>', 'the types to send; default: all').choices(FEED_EVENT_TYPES));

/** @throws Error without the service's secret, with which the secrets of endpoints are encrypted. */
function signing(services: INestApplicationContext): WebhookEndpointsService {
  if (!process.env.JWT_SECRET) throw new Error('JWT_SECRET must be that of the service');
  return services.get(WebhookEndpointsService);
}
