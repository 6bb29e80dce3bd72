import { Module } from '@nestjs/common';
import { CashbackModule } from '../cashback/cashback.module.js';
import { OperatorGrantsService } from '../cashback/operator-grants.service.js';
import { EventsModule } from '../events/events.module.js';
import { SequencerService } from '../events/sequencer.service.js';
import { CENTS_IN_BRL, Metrics } from '../metrics/metrics.js';
import { OrdersModule } from '../orders/orders.module.js';
import { DeliveryService } from '../webhooks/delivery.service.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { SweepsService } from './sweeps.service.js';

/** What the service does without a request. The rules are in `orders`, `cashback` and `events`. */
@Module({ imports: [OrdersModule, CashbackModule, EventsModule, WebhooksModule], providers: [SweepsService] })
export class SweepsModule {
  constructor(
    sweeps: SweepsService,
    sequencer: SequencerService,
    deliveries: DeliveryService,
    operatorGrants: OperatorGrantsService,
    metrics: Metrics,
  ) {
    metrics.gauge(
      'expiry_lag_seconds',
      'How long orders and credits that are due may have waited for this instance to expire them',
      () => sweeps.lagsOf('orders', 'credits'),
    );
    metrics.gauge(
      'day_sweep_behind_seconds',
      'How long dates of cashback may have waited for this instance to announce them',
      () => sweeps.lagsOf('available', 'expiring'),
    );
    metrics.figure(
      'events_lag_seconds',
      'How long the oldest event had waited for its number when this instance last looked',
      () => sequencer.lagSeconds,
    );
    metrics.figure(
      'event_outbox_rows',
      'Events that waited for their number when this instance last looked, up to 10,000',
      () => sequencer.waiting,
    );
    metrics.figure(
      'webhook_behind_events',
      'Events that active webhook endpoints were behind their feeds when this instance last looked',
      () => deliveries.behind,
    );
    metrics.figure(
      'operator_grants_brl',
      'Cashback in BRL that operators granted with the command line within an hour before this instance last looked',
      () => operatorGrants.cents / CENTS_IN_BRL,
    );
  }
}
