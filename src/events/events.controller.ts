import { applyDecorators, Body, Delete, Get, HttpCode, Param, Post, Put, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiExtraModels, ApiParam } from '@nestjs/swagger';
import { type Response } from 'express';
import { Heavy } from '../platform/http/admission.js';
import { markCreated } from '../platform/http/app-request.js';
import { IdParam, MerchantController, MerchantId, Requires } from '../platform/http/decorators.js';
import { ApiProblems, headerReferences } from '../platform/openapi/decorators.js';
import { EventDto, EventPageDto, ListEventsDto } from './event.dto.js';
import { EventsService } from './events.service.js';
import {
  SeekDto,
  WebhookAttemptDto,
  WebhookEndpointDto,
  WebhookEndpointListDto,
  WebhookEndpointRequestDto,
  WebhookEndpointWithSecretDto,
} from './webhook-endpoint.dto.js';
import { WebhookEndpointsService } from './webhook-endpoints.service.js';

@ApiExtraModels(EventDto)
@MerchantController('events', 'events')
@Requires('events')
export class EventsController {
  constructor(private readonly events: EventsService) {}

  /**
   * Read the feed of events
   *
   * @remarks Returns the changes of orders and of customers' cashback in the order of their `sequence`, which has no
   * gaps: a consumer that stores `next_after` misses nothing. The service keeps events for 90 days by default;
   * an `after` below that returns 410 with the `oldest` sequence. `from` and `last` start with an event that is kept.
   */
  @Get()
  @Heavy()
  @ApiProblems.query('events_expired')
  listEvents(@MerchantId() merchantId: string, @Query() query: ListEventsDto): Promise<EventPageDto> {
    return this.events.list(merchantId, query);
  }

  /**
   * Read an event
   *
   * @remarks Returns an event of the feed by its ID, which is the `webhook-id` of its deliveries.
   */
  @Get(':id')
  @ApiParam({
    name: 'id',
    description: 'The event',
    schema: { type: 'string', pattern: '^evt_[0-9a-f-]{36}$', example: 'evt_0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f10' },
  })
  @ApiProblems.read()
  getEvent(@MerchantId() merchantId: string, @Param('id') id: string): Promise<EventDto> {
    return this.events.get(merchantId, id);
  }
}

const EndpointId = (): ParameterDecorator => IdParam('The webhook endpoint');
const ChangeEndpoint = (operation: string): MethodDecorator =>
  applyDecorators(Post(`:id/${operation}`), Heavy(), HttpCode(200));

@MerchantController('webhook-endpoints', 'webhooks')
@Requires('events')
export class WebhooksController {
  constructor(private readonly endpoints: WebhookEndpointsService) {}

  /**
   * Create a webhook endpoint
   *
   * @remarks Sends it each event of the feed from now on, in order. Only this response has the `secret`. If it is lost,
   * the same request returns 409 with the `existing_id`, whose secret you can rotate.
   */
  @Post()
  @Heavy()
  @ApiCreatedResponse({ type: WebhookEndpointWithSecretDto, headers: headerReferences('Location') })
  @ApiProblems('validation_failed', 'webhook_url_taken', 'webhook_url_refused', 'too_many_webhook_endpoints')
  async createWebhookEndpoint(
    @MerchantId() merchantId: string,
    @Body() body: WebhookEndpointRequestDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<WebhookEndpointWithSecretDto> {
    const created = await this.endpoints.create(merchantId, body);
    markCreated(response, `/webhook-endpoints/${created.id}`, false);
    return created;
  }

  /**
   * List webhook endpoints
   *
   * @remarks Returns all of them, at most 20, the oldest first.
   */
  @Get()
  @Heavy()
  @ApiProblems('missing_token', 'invalid_token')
  async listWebhookEndpoints(@MerchantId() merchantId: string): Promise<WebhookEndpointListDto> {
    return { data: await this.endpoints.list(merchantId) };
  }

  /**
   * Read a webhook endpoint
   *
   * @remarks Returns how far it is behind the feed, and its last attempt.
   */
  @Get(':id')
  @ApiProblems.read()
  getWebhookEndpoint(@MerchantId() merchantId: string, @EndpointId() id: string): Promise<WebhookEndpointDto> {
    return this.endpoints.get(merchantId, id);
  }

  /**
   * Change a webhook endpoint
   *
   * @remarks Replaces the URL, the types and the batch. What an active endpoint waits for is sent at once, to the new
   * URL.
   */
  @Put(':id')
  @Heavy()
  @ApiProblems.read('validation_failed', 'webhook_url_taken', 'webhook_url_refused')
  replaceWebhookEndpoint(
    @MerchantId() merchantId: string,
    @EndpointId() id: string,
    @Body() body: WebhookEndpointRequestDto,
  ): Promise<WebhookEndpointDto> {
    return this.endpoints.replace(merchantId, id, body);
  }

  /**
   * Delete a webhook endpoint
   *
   * @remarks Events stay in the feed.
   */
  @Delete(':id')
  @HttpCode(204)
  @ApiProblems.read()
  deleteWebhookEndpoint(@MerchantId() merchantId: string, @EndpointId() id: string): Promise<void> {
    return this.endpoints.delete(merchantId, id);
  }

  /**
   * Ping a webhook endpoint
   *
   * @remarks Sends a signed event of the type `ping`, also to a disabled endpoint, and returns the outcome. It waits 3
   * seconds for the response.
   */
  @ChangeEndpoint('ping')
  @ApiProblems.read()
  pingWebhookEndpoint(@MerchantId() merchantId: string, @EndpointId() id: string): Promise<WebhookAttemptDto> {
    return this.endpoints.ping(merchantId, id);
  }

  /**
   * Rotate the secret of a webhook endpoint
   *
   * @remarks Returns a new secret. For 24 hours events are signed with the earlier secrets too.
   */
  @ChangeEndpoint('rotate-secret')
  @ApiProblems.read()
  rotateWebhookSecret(
    @MerchantId() merchantId: string,
    @EndpointId() id: string,
  ): Promise<WebhookEndpointWithSecretDto> {
    return this.endpoints.rotateSecret(merchantId, id);
  }

  /**
   * Enable a webhook endpoint
   *
   * @remarks Goes on with the event after `cursor`. If it is no longer kept, the response is 410: seek first.
   */
  @ChangeEndpoint('enable')
  @ApiProblems.read('events_expired')
  enableWebhookEndpoint(@MerchantId() merchantId: string, @EndpointId() id: string): Promise<WebhookEndpointDto> {
    return this.endpoints.enable(merchantId, id);
  }

  /**
   * Move the cursor of a webhook endpoint
   *
   * @remarks Sends the events after a `sequence`, or from an instant on. An earlier one repeats events, a later one
   * leaves events out.
   */
  @ChangeEndpoint('seek')
  @ApiProblems.read('validation_failed', 'events_expired')
  seekWebhookEndpoint(
    @MerchantId() merchantId: string,
    @EndpointId() id: string,
    @Body() body: SeekDto,
  ): Promise<WebhookEndpointDto> {
    return this.endpoints.seek(merchantId, id, body);
  }
}
