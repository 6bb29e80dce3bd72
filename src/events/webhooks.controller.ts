import { applyDecorators, Body, Delete, Get, HttpCode, Post, Put, Res } from '@nestjs/common';
import { ApiCreatedResponse } from '@nestjs/swagger';
import { type Response } from 'express';
import { Heavy } from '../platform/http/admission.js';
import { MerchantController, IdParam, MerchantId, Requires } from '../platform/http/decorators.js';
import { markCreated } from '../platform/http/responses.js';
import { ApiProblems, headerReferences } from '../platform/openapi/decorators.js';
import {
  SeekDto,
  WebhookAttemptDto,
  WebhookEndpointDto,
  WebhookEndpointListDto,
  WebhookEndpointRequestDto,
  WebhookEndpointWithSecretDto,
} from './webhook-endpoint.dto.js';
import { WebhookEndpointsService } from './webhook-endpoints.service.js';

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
