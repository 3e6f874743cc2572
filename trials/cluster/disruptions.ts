import { renew, replaceAuthority } from './certificates.ts';
import { kubectl, NAME, objects, SERVICES } from './cluster.ts';
import { underLoad } from './under-load.ts';

/** Deletes one pod of each service in turn, as draining a node does, and waits until the service has two pods again. */
export function deletePods(): Promise<string> {
  return underLoad(async () => {
    for (const service of SERVICES) {
      const [pod] = await objects('pod', `app.kubernetes.io/component=${service}`);
      await kubectl(['delete', 'pod', pod.metadata.name], { shown: true });
      await kubectl(['rollout', 'status', `deployment/${NAME}-${service}`, '--timeout=5m']);
    }
  });
}

/** Renews all certificates. */
export function renewCertificates(): Promise<string> {
  return underLoad(renew);
}

/** Replaces the authority of the certificates, in its three steps. */
export function changeAuthority(): Promise<string> {
  return underLoad(replaceAuthority);
}
