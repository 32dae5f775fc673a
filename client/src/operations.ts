import { Backups } from './backups.ts';
import { type ClientOptions, Counterfoil } from './client.ts';
import { type DoctorReport, doctor } from './doctor.ts';
import { Http } from './http.ts';
import { Keys } from './keys.ts';
import { type ReconcileLine, type ReconcileRequest, reconcile } from './reconciliation.ts';
import type { CallOptions } from './tables.ts';

/** The client for operators of the service. It is separate, so that pages of a shop do not load it. */
export class Operator extends Counterfoil {
  readonly keys: Keys;
  readonly backups: Backups;
  readonly #http: Http;

  constructor(options: ClientOptions) {
    super(options);
    this.#http = new Http(options);
    this.keys = new Keys(this.#http);
    this.backups = new Backups(this.#http);
  }

  /**
   * Compares the payments of a period with the records of their processor, and yields the differences as they are
   * found. Changes nothing. Needs a key with the scope `admin`. Throws `reconciliation_running` while another
   * reconciliation of this processor runs.
   */
  reconcile(request: ReconcileRequest): AsyncGenerator<ReconcileLine> {
    return reconcile(this.#http, request);
  }

  /** The checks of `counterfoil doctor` that a running service can make itself. Needs a key with the scope `admin`. */
  doctor(options: CallOptions = {}): Promise<DoctorReport> {
    return doctor(this.#http, options);
  }
}
