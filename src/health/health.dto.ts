/** The service is healthy. Otherwise the response is a problem with status 503. */
export class HealthDto {
  /** @example ok */
  readonly status!: string;
}
