/** Shows who is signed in, and returns whether anybody is. */
export async function showSession() {
  const response = await fetch('/v3/auth/session');
  const { body } = await response.json();
  document.getElementById('who').textContent = response.ok
    ? `Signed in as ${body.name ?? body.subject}.`
    : 'Sign in to buy.';
  document.getElementById('sign-in').hidden = response.ok;
  const button = document.getElementById('sign-out');
  button.hidden = !response.ok;
  button.addEventListener('click', signOut);
  return response.ok;
}

async function signOut() {
  await fetch('/v3/auth/sign-out', { method: 'POST', headers: { 'Content-Type': 'application/json' } });
  location.reload();
}
