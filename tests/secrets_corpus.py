"""A corpus that redaction is measured with, and that its rules were not written from.

Each line of SECRETS is one shape of secret as it occurs in a conversation; `«...»` surrounds what must not stay. Each
line of HARMLESS looks like a secret and is none. `<an40>` is 40 letters and digits, `<hex32>`, `<up16>`, `<dig9>`,
`<low20>`, `<url43>` (letters, digits, `-` and `_`), `<b64:44>` and `<uuid>` accordingly; `<pw>` is a password that
somebody would choose, `<pass>` one of letters and digits. `~` ends a line. The values are drawn from the shape's own text,
so they are the same in every run, and no whole token stands in this file.

The halves are drawn by the digest of the shape: the rules were written from `dev`, and `test` measured them. What `test`
showed was then mended as well, so a third part, `fresh`, was written when the rules stood.
"""

from __future__ import annotations

import random
import re
import string
from collections import namedtuple
from hashlib import sha256

Sample = namedtuple("Sample", "shape text secrets half")  # secrets: what must not stay; empty if harmless

ALPHABETS = {
    "an": string.ascii_letters + string.digits,
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "up": string.ascii_uppercase + string.digits,
    "low": string.ascii_lowercase + string.digits,
    "dig": string.digits,
    "url": string.ascii_letters + string.digits + "-_",
    "b64:": string.ascii_letters + string.digits + "+/",
    "abc": string.ascii_lowercase,
}
WORDS = (
    "harbor velvet copper lantern orchid thunder maple saffron glacier pepper walnut marble violet comet badger raven"
).split()

# Tokens that name their issuer, where people put them.
TOKENS = r"""
use SK«<hex32>» as the api key of twilio
client = Client("AC<hex32>", "«<hex32>»")  # TWILIO_AUTH_TOKEN
TWILIO_API_KEY_SID=SK«<hex32>»
the bot logs in with «MT<an22>.G<url5>.<url38>» and then it hangs
client.login("«OD<an22>.Y<url5>.<url27>»")
it posts to https://discord.com/api/webhooks/1<dig17>/«<url68>» every hour
curl -X POST https://discordapp.com/api/webhooks/<dig18>/«<url68>» -d @msg.json
mailgun says the domain is fine with key-«<hex32>»
my mailgun sending key is «<hex32>-<hex8>-<hex8>»
requests.post(url, auth=("api", "key-«<hex32>»"))
heroku auth:token printed HRKU-«<uuid>»
HEROKU_API_KEY=«<uuid>»
heroku gave me HRKU-AA«<url58>» just now
heroku_api_key = "«<uuid>»"
grafana service account: glsa_«<an32>_<hex8>»
the cloud policy token glc_«<b64:120>» is in the dashboard
old grafana key «eyJrIjoi<an72>»=
Linear key lin_api_«<an40>» can be rotated
lin_oauth_«<hex64>» came back from the exchange
notion integration ntn_«<dig11><an35>» sees only one page
NOTION_KEY: secret_«<an43>»
const notion = new Client({ auth: "secret_«<an43>»" })
jira: ATATT3«<url180>=<HEX8>»
confluence reads with ATATT3xFfGF0«<url170>=<HEX8>» here
bitbucket app password ATBB«<an32>»
repository access token ATCTT3xFfGN0«<url170>=<HEX8>»
sentry-cli --auth-token sntrys_«eyJpYXQiOjE3<an90>_<url43>» releases new 1.2
SENTRY_AUTH_TOKEN=sntryu_«<hex64>»
the user token is sntryu_«<hex64>»
replicate wants r8_«<an37>»
REPLICATE_API_TOKEN=r8_«<an37>»
supabase login --token sbp_«<hex40>»
the service key of supabase is sb_secret_«<url22>_<url8>»
I pasted xai-«<an80>» into the chat
XAI_API_KEY=xai-«<an80>»
perplexity: pplx-«<an48>»
"apiKey": "pplx-«<an48>»",
new relic user key NRAK-«<up27>»
NEW_RELIC_LICENSE_KEY=«<hex36>NRAL»
license_key: '«eu01xx<hex30>NRAL»'
NRII-«<url32>» is our insert key
newrelic browser NRJS-«<hex19>»
cloudflare api token: «<url40>»
CLOUDFLARE_API_TOKEN=«<url40>»
CF_API_KEY=«<hex37>»
export FLY_API_TOKEN="FlyV1 fm2_«<b64:120>»"
fly auth token prints fo1_«<url43>»
airtable: pat«<an14>.<hex64>»
figma personal token figd_«<url40>»
the postman key is PMAK-«<hex24>-<hex34>»
pulumi login with pul-«<hex40>»
terraform cloud: «<an14>.atlasv1.<url64>»
credentials "app.terraform.io" { token = "«<an14>.atlasv1.<url67>»" }
doppler dp.pt.«<an43>» for the personal one
DOPPLER_TOKEN=dp.st.dev.«<an43>»
pscale_tkn_«<url43>» with id <low12>
pscale_pw_«<url43>» is the password of the branch
rubygems_«<hex48>» in ~/.gem/credentials
square production EAAA«<url60>»
sq0csp-«<url43>» is the application secret
mailchimp «<hex32>-us12»
brevo smtp xkeysib-«<hex64>-<an16>»
typeform tfp_«<url44>_<url14>»
dynatrace: dt0c01.«<up24>.<up64>»
adafruit aio_«<an28>»
easypost EZAK«<an54>»
sourcegraph sgp_«<hex40>»
the snippet uses sgp_«<hex16>_<hex40>»
launchdarkly server sdk key sdk-«<uuid>»
launchdarkly api-«<uuid>»
hubspot private app pat-na1-«<uuid>»
contentful CFPAT-«<url43>»
netlify nfp_«<an40>»
CLOJARS_«<hex60>»
readme.io rdme_«<hex70>»
tailscale up --authkey tskey-auth-«k<an11>CNTRL-<an32>»
tskey-api-«k<an11>CNTRL-<an32>» is from the admin console
1password connect: ops_«eyJzaWduSW5BZGRyZXNz<b64:260>»
emergency kit A3-«<up6>-<up6>-<up5>-<up5>-<up5>»
azure app secret «<an3>8Q<tilde><url34>»
alibaba LTAI«<an20>»
yandex cloud AQVN«<url36>»
buildkite bkua_«<hex40>»
circleci CCIPAT_«<an22>_<hex40>»
artifactory reference cmVmdGtu«<an56>»
artifactory AKCp«<an69>»
slack socket mode xapp-1-«A<up10>-<dig13>-<hex64>»
xoxe.xoxp-1-«<an140>» was refreshed
xoxp-«<dig12>-<dig12>-<dig12>-<hex32>» still works
openrouter sk-or-v1-«<hex64>»
deepseek key sk-«<hex32>» is out of credit
langsmith lsv2_pt_«<hex32>_<hex10>»
langfuse sk-lf-«<uuid>»
pinecone pcsk_«<an6>_<an63>»
cerebras csk-«<low48>»
tavily tvly-dev-«<an32>»
TAVILY_API_KEY=tvly-«<an32>»
firecrawl fc-«<hex32>»
e2b_«<hex40>» starts the sandbox
elevenlabs sk_«<hex48>»
resend re_«<an8>_<an24>»
new Resend("re_«<an8>_<an24>»")
clerk sk_test_«<an40>»
stripe rk_live_«<an99>»
sk_live_51«<an97>» was in the log
posthog personal phx_«<an43>»
honeycomb hcaik_«<low58>»
jina_«<an60>» reads pages
voyage pa-«<url43>»
nvidia nvapi-«<url64>»
together tgp_v1_«<url43>»
fireworks fw_«<an24>»
gcp refresh token 1//0«<url100>»
the access token ya29.«a0AfH6SM<url120>» expired
amzn.mws.«<uuid>» from seller central
temporary ASIA«<up16>» and its secret
aws_secret_access_key = «<b64:40>»
AWS_SESSION_TOKEN=«IQoJb3JpZ2luX2Vj<b64:200>»==
bedrock ABSK«<b64:109>»=
gitlab runner glrt-«<url20>»
gitlab deploy gldt-«<url20>»
gitlab trigger glptt-«<hex40>»
ghs_«<an36>» was minted for the job
gho_«<an36>» by the cli
github_pat_«11<up20>_<an59>» fine grained
dropbox sl.«<url136>»
crates.io cio«<an32>»
nuget oy2«<low43>»
dckr_oat_«<url32>» pulls the image
fcm server key AAAA«<url7>:APA91b<url134>»
shpss_«<hex32>» is the shared secret
shippo_live_«<hex40>»
duffel_live_«<url43>»
flutterwave FLWSECK-«<hex32>-X»
frameio fio-u-«<url64>»
doctl uses dop_v1_«<hex64>»
doo_v1_«<hex64>» oauth
hf_«<an34>» downloads the model
hvs.«CAES<url91>» unseals it
hvb.«AAAA<url138>» batch
gsk_«<an52>» on groq
prefect pnu_«<low36>»
databricks dapi«<hex32>-2»
planetscale oauth pscale_oauth_«<url43>»
infracost ico-«<an32>»
vercel_blob_rw_«<an16>_<an30>» for the uploads
vercel token vcp_«<an56>»
turso db tokens create printed eyJhbGciOiJFZERTQSJ9.«eyJ<an60>.<url86>»
UPSTASH_REDIS_REST_TOKEN="«AX<an54>»"
ALGOLIA_ADMIN_KEY=«<hex32>»
DATADOG_API_KEY=«<hex32>»
DD_APP_KEY=«<hex40>»
wandb login «<hex40>»
WANDB_API_KEY=«<hex40>»
OPENAI_API_KEY=sk-«<an20>T3BlbkFJ<an20>»
sk-svcacct-«<url74>T3BlbkFJ<url74>» for ci
ANTHROPIC_AUTH_TOKEN=sk-ant-oat01-«<url86>AA»
sk-ant-admin01-«<url86>AA»
gemini AIza«<url35>»
google client GOCSPX-«<url28>»
telegram bot «<dig10>:AA<url33>» answers
pypi-«AgEIcHlwaS5vcmc<url140>» uploads
npm_«<an36>» in ci
whsec_«<an32>» checks the signature
squareup EAAAl«<url59>»
facebook page token EAA«Ga<an170>»
mapbox sk.«eyJ1Ijoi<an60>.<url22>»
okta SSWS «00<url40>»
confluent api secret cflt«<b64:60>»
scaleway SCW_SECRET_KEY=«<uuid>»
linode token «<hex64>» LINODE_TOKEN
export LINODE_TOKEN=«<hex64>»
asana 1/<dig16>:«<hex32>»
intercom dG9rO«<b64:55>»=
zapier https://hooks.zapier.com/hooks/catch/<dig7>/«<low7>»
teams https://contoso.webhook.office.com/webhookb2/«<uuid>@<uuid>/IncomingWebhook/<hex32>/<uuid>»
slack hook https://hooks.slack.com/services/T<up8>/B<up10>/«<an24>»
slack flow https://hooks.slack.com/workflows/T<up8>/A<up10>/<dig18>/«<an24>»
sentry dsn https://<hex32>:«<hex32>»@o<dig6>.ingest.sentry.io/<dig7>
"""

# Secrets that only their place gives away.
PLACES = r"""
env:~  - name: DB_PASSWORD~    value: «<pw>»~  - name: PORT~    value: "8080"
env:~- name: STRIPE_API_KEY~  value: "«<an32>»"
- {name: REDIS_PASSWORD, value: "«<pass>»"}
{"name": "API_TOKEN", "value": "«<an40>»"}
{"value": "«<an40>»", "name": "JWT_SECRET"}
data:~  password: «<b64:24>»==~  username: YWRtaW4=
kind: Secret~stringData:~  api-key: «<an32>»
PuTTY-User-Key-File-3: ssh-ed25519~Encryption: none~Comment: jay~Public-Lines: 2~AAAAC3NzaC1lZDI1NTE5AAAA<b64:40>~<b64:20>~Private-Lines: 1~«<b64:47>»=~Private-MAC: «<hex64>»
    client-key-data: «LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo<b64:400>»==
users:~- name: admin~  user:~    client-key-data: «LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS0tLS0tCk<b64:300>»=~    token: «<an40>»
{"auths": {"registry.example.com": {"auth": "«<b64:40>»="}}}
{"auths":{"https://index.docker.io/v1/":{"auth":"«<b64:32>»==","email":"jay@example.com"}}}
git clone https://«<an40>»@git.example.com/jay/nest.git
git remote add origin https://«<hex40>»@github.com/jay/nest
pip install --index-url https://«<low24>»@pypi.example.com/simple nest
git push https://oauth2:«<url26>»@gitlab.example.com/jay/nest.git
git clone https://x-access-token:«<an36>»@github.com/jay/nest
machine api.example.com login jay password «<pw>»
machine git.example.com~  login jay~  password «<pass>»
default login anonymous password «<pass>»
db.example.com:5432:main:jay:«<pass>»
*:*:*:postgres:«<pw>»
localhost:5432:*:app:«<pass>»
curl -u jay:«<pass>» https://api.example.com/v1/nests
curl -s --user admin:«<pw>» https://ci.example.com/api/json
curl -u "jay:«<pass>»" -X POST https://api.example.com
curl --proxy-user jay:«<pass>» https://example.com
wget --user=jay --password=«<pass>» https://example.com/a.zip
wget --http-password «<pass>» https://example.com/a.zip
mysql -u root -p«<pass>» main < dump.sql
mysqldump -h db -ujay -p'«<pw>»' main
mysqladmin -u root --password=«<pass>» status
sshpass -p «<pass>» ssh jay@host
sshpass -p'«<pw>»' scp a b:c
PGPASSWORD=«<pass>» psql -h db -U jay main
MYSQL_PWD=«<pass>» mysql -u root
redis-cli -h cache -a «<pass>» ping
redis-cli -u redis://default:«<pass>»@cache:6379
mongosh -u jay -p «<pass>» --authenticationDatabase admin
docker login -u jay -p «<pass>» registry.example.com
echo «<pass>» | docker login -u jay --password-stdin
echo '«<pw>»' | sudo -S apt install jq
ldapsearch -x -D cn=admin -w «<pass>» -b dc=example
openssl enc -aes-256-cbc -k «<pass>» -in a -out b
openssl pkcs12 -in a.p12 -passin pass:«<pass>» -nodes
zip -P «<pass>» a.zip a
unzip -P «<pass>» a.zip
7z x a.7z -p«<pass>»
net use Z: \\nas\share «<pass>» /user:jay
smbclient //nas/share -U jay%«<pass>»
az login --service-principal -u <uuid> -p «<url34>» --tenant <uuid>
helm upgrade nest . --set db.password=«<pass>»
kubectl create secret generic db --from-literal=password=«<pass>»
vault kv put secret/db password=«<pass>»
gh secret set NPM_TOKEN --body «<an36>»
aws configure set aws_secret_access_key «<b64:40>»
npm config set //npm.example.com/:_authToken «<uuid>»
keytool -genkey -storepass «<pass>» -keypass «<pass>»
java -Djavax.net.ssl.keyStorePassword=«<pass>» -jar a.jar
psql "host=db user=jay password=«<pass>» dbname=main"
psql postgresql://jay:«<pass>»@db.example.com/main
<password>«<pass>»</password>
<server><id>nexus</id><username>jay</username><password>«<pw>»</password></server>
<property name="password" value="«<pass>»"/>
<add key="ApiKey" value="«<an32>»" />
<setting name="DbPassword" serializeAs="String"><value>«<pass>»</value></setting>
<clientSecret>«<url34>»</clientSecret>
<api-key>«<an32>»</api-key>
<ClearTextPassword>«<pass>»</ClearTextPassword>
<add name="Main" connectionString="Server=db;User Id=jay;Password=«<pass>»;" />
<context-param><param-name>secretKey</param-name><param-value>«<an32>»</param-value></context-param>
define('DB_PASSWORD', '«<pw>»');
define( "AUTH_KEY", "«<an64>»" );
define('SECURE_AUTH_SALT', '«<an64>»');
$db['default']['password'] = '«<pass>»';
'password' => '«<pass>»',
'password' => env('DB_PASSWORD', '«<pass>»'),
$config->set('smtp.password', '«<pass>»');
the password is «<pass>», please do not tell anyone
My root password is "«<pw>»"
password for the staging database is «<pass>»
the admin password was «<pass>» until yesterday
use the password «<pass>» to log in
log in as jay with password «<pass>»
user jay, password «<pass>»
the passphrase is «<pass>»
my pin/password combination: «<pass>»
its api key is «<an32>»
the token is «<an40>», valid for a week
here is the api key: «<an32>»
set the secret to «<an32>»
das Passwort ist «<pass>»
Passwort: «<pass>»
mot de passe : «<pass>»
la contraseña es «<pass>»
credentials: jay / «<pass>»
login: jay~pass: «<pass>»
username: jay~password: «<pass>»
user=jay~pw=«<pass>»
wifi password: «<pass>»
pass = "«<pass>»"
passwd: «<pass>»
pwd: «<pass>»
Cookie: sessionid=«<low32>»; theme=dark
Cookie: theme=dark; session=«<an40>»
Set-Cookie: connect.sid=s%3A«<url32>.<an43>»; Path=/; HttpOnly
set-cookie: auth_token=«<hex64>»; Secure
-H 'Cookie: PHPSESSID=«<low26>»'
curl -b "session=«<url60>»" https://example.com/me
"cookie": "jwt=«<an40>»; lang=de"
Cookie: JSESSIONID=«<HEX32>»
variable "db_password" {~  type    = string~  default = "«<pass>»"~}
variable "api_token" { default = "«<an40>»" }
password = "«<pw>»"
resource "aws_db_instance" "main" {~  master_password = "«<pass>»"~}
secret_key = "«<b64:40>»"
jay:$apr1$«<an8>$<an22>»
jay:{SHA}«<b64:27>»=
jay:$2y$05$«<an53>»
admin:$2b$12$«<an53>»
root:$6$«<an16>$<an86>»:19000:0:99999:7:::
ansible_password: «<pass>»
ansible_ssh_pass=«<pass>»
ansible_become_pass: "«<pw>»"
web1 ansible_host=10.0.0.3 ansible_user=jay ansible_become_password=«<pass>»
$ANSIBLE_VAULT;1.1;AES256~«<hex80>»~«<hex80>»
//registry.example.com/:_auth=«<b64:40>»=
_auth = «<b64:40>»=
//npm.example.com/:_authToken=«<uuid>»
//npm.pkg.github.com/:_password=«<b64:32>»
npmAuthToken: "«<uuid>»"
const apiToken: string = '«<an40>»';
const API_KEY: string = "«<an32>»";
private readonly clientSecret: string = '«<url34>»';
let dbPassword: string | undefined = "«<pass>»";
const API_KEY: &str = "«<an32>»";
static SECRET: &'static str = "«<an40>»";
let password: String = "«<pass>»".to_string();
let token = String::from("«<an40>»");
api_key: str = "«<an32>»"
API_KEY: Final[str] = "«<an32>»"
API_KEY: Final = "«<an32>»"
token: str | None = "«<an40>»"
secret_key: SecretStr = SecretStr("«<an40>»")
def connect(host: str, password: str = "«<pass>") -> None:»
private static final String PASSWORD = "«<pass>»";
String apiKey = "«<an32>»";
val apiSecret: String = "«<an40>»"
let apiKey: String = "«<an32>»"
var token string = "«<an40>»"
apiKey := "«<an32>»"
const apiKey = `«<an32>»`;
public const string ApiKey = "«<an32>»";
NSString *apiSecret = @"«<an32>»";
char *password = "«<pass>»";
#define WIFI_PASSWORD "«<pass>»"
std::string api_key{"«<an32>»"};
(def api-key "«<an32>»")
(setq my-password "«<pass>»")
api_key <- "«<an32>»"
Sys.setenv(OPENAI_API_KEY = "«<an40>»")
os.environ["SECRET_KEY"] = "«<an50>»"
os.environ.setdefault("DJANGO_SECRET", "«<an50>»")
os.getenv("API_KEY", "«<an32>»")
process.env.API_TOKEN = "«<an40>»";
process.env.API_KEY || "«<an32>»"
ENV["SECRET_KEY_BASE"] = "«<hex128>»"
secret_key_base: «<hex128>»
config.password = "«<pass>»"
app.secret_key = b"«<an24>»"
SECRET_KEY = 'django-insecure-«<an50>»'
jwt.sign(payload, "«<an32>»")
jwt.encode(claims, "«<an40>»", algorithm="HS256")
headers = {"X-Api-Key": "«<an32>»"}
headers = {"Authorization": "Bearer «<an40>»"}
headers: { Authorization: `token «<hex40>»` }
headers={"Authorization": "Token «<hex40>»"}
-H "Authorization: ApiKey «<b64:44>»="
-H "PRIVATE-TOKEN: «<url20>»"
-H 'X-Auth-Token: «<hex32>»'
-H "apikey: «<an40>»"
-H "X-Vault-Token: «<an24>»"
Proxy-Authorization: Basic «<b64:24>»=
Authorization: Digest username="jay", response="«<hex32>»"
WWW: https://api.example.com/v1?api_key=«<hex32>»&q=nest
https://maps.example.com/js?key=«<url39>»&v=3
https://api.example.com/x?access_token=«<an60>»
https://s3.example.com/a?X-Amz-Credential=AKIA<up16>&X-Amz-Signature=«<hex64>»
https://example.com/reset?token=«<url43>»
https://example.com/cb#access_token=«<url80>»&expires_in=3600
mongodb+srv://jay:«<pass>»@cluster0.example.mongodb.net/main
amqp://guest:«<pass>»@mq:5672/
redis://:«<pass>»@cache:6379/0
smtp://jay%40example.com:«<pass>»@smtp.example.com:587
ftp://jay:«<pass>»@ftp.example.com/pub
DATABASE_URL="mysql2://root:«<pw2>»@127.0.0.1/main"
Data Source=db;User ID=sa;Pwd=«<pass>»;
jdbc:mysql://db/main?user=jay&password=«<pass>»
jdbc:oracle:thin:jay/«<pass>»@db:1521:xe
DefaultEndpointsProtocol=https;AccountName=jay;AccountKey=«<b64:86>»==;EndpointSuffix=core.windows.net
Endpoint=sb://jay.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=«<b64:43>»=
"connectionString": "mongodb://jay:«<pass>»@db/main"
CREATE USER jay WITH PASSWORD '«<pass>»';
ALTER USER 'root'@'localhost' IDENTIFIED BY '«<pw>»';
GRANT ALL ON *.* TO 'jay'@'%' IDENTIFIED BY '«<pass>»';
ALTER ROLE jay ENCRYPTED PASSWORD '«<pass>»'
SET PASSWORD FOR jay = PASSWORD('«<pass>»');
requirepass «<pass>»
masterauth «<pass>»
spring.datasource.password=«<pass>»
spring.datasource.password: «<pass>»
quarkus.datasource.password=«<pass>»
[smtp]~password = «<pass>»
[default]~aws_access_key_id = AKIA<up16>~aws_secret_access_key = «<b64:40>»
POSTGRES_PASSWORD: «<pass>»
      - MYSQL_ROOT_PASSWORD=«<pass>»
ENV SECRET_TOKEN=«<an32>»
ARG NPM_TOKEN=«<an36>»
docker run -e POSTGRES_PASSWORD=«<pass>» postgres
export JWT_SECRET='«<an40>»'
set DB_PASS=«<pass>»
$env:API_KEY = "«<an32>»"
setx API_TOKEN «<an40>»
fish: set -x API_TOKEN «<an40>»
SMTP_PASS=«<pass>»
NEXTAUTH_SECRET=«<b64:43>»=
ENCRYPTION_KEY=«<hex64>»
PRIVATE_KEY=0x«<hex64>»
export ETH_PRIVATE_KEY=«<hex64>»
MASTER_KEY=«<hex32>»
RAILS_MASTER_KEY=«<hex32>»
SIGNING_KEY: «<b64:43>»=
webhook_secret: «<hex40>»
"private_key": "-----BEGIN PRIVATE KEY-----\n«<b64:64>\n<b64:64>\n<b64:40>»=\n-----END PRIVATE KEY-----\n"
"client_secret": "«<url24>»"
"refresh_token": "«<url60>»"
"access_token":"«<an60>»"
"id": 7, "password": "«<pass>»"
{\"api_key\": \"«<an32>»\"}
{'token': '«<an40>»'}
'{"username":"jay","password":"«<pass>»"}'
-----BEGIN OPENSSH PRIVATE KEY-----~«<b64:70>~<b64:70>~<b64:70>~<b64:40>»==~-----END OPENSSH PRIVATE KEY-----
-----BEGIN PGP PRIVATE KEY BLOCK-----~~«<b64:64>~<b64:64>~<b64:64>»~=<an4>~-----END PGP PRIVATE KEY BLOCK-----
  -----BEGIN EC PRIVATE KEY-----~  «<b64:64>~  <b64:64>~  <b64:30>»=~  -----END EC PRIVATE KEY-----
key = '''-----BEGIN RSA PRIVATE KEY-----~«<b64:64>~<b64:64>~<b64:64>»~-----END RSA PRIVATE KEY-----'''
[Interface]~PrivateKey = «<b64:43>»=~Address = 10.0.0.2/32
PresharedKey = «<b64:43>»=
wpa_passphrase=«<pass>»
psk="«<pass>»"
network={~  ssid="nest"~  psk=«<hex64>»~}
otpauth://totp/Nest:jay?secret=«<up32>»&issuer=Nest
TOTP seed: «<up32>»
Password: «<pw>»~Confirm: ok
Enter password: «<pass>»
temporary password generated for root@localhost: «<pass>»
A temporary password is generated for root@localhost: «<pw>»
Your new API key: «<an40>»
Initial admin password:~~«<hex32>»~~This may also be found at: /var/lib/jenkins
+ API_SECRET=«<an32>»
-API_SECRET=«<an32>»
+    password: "«<pass>»",
| password | «<pass>» |
| API key | `«<an32>»` |
**Password:** `«<pass>»`
- Password: «<pass>»
> password: «<pass>»
PASSWORD ?= «<pass>»
API_KEY ??= «<an32>»
password=>«<pass>»
:password => "«<pass>»"
password: '«<pass>»',
password = r"«<pw>»"
password:  |-~  «<pass>»
set password «<pass>»
bindpw «<pass>»
rootpw {SSHA}«<b64:32>»
snmp-server community «<pass>» RO
enable secret 5 $1$«<an4>$<an22>»
username jay password 7 «<HEX24>»
"""

HARMLESS = r"""
commit <hex40>
Merge: <hex7> <hex7>~Author: Jay <jay@example.com>
<hex40> refs/heads/main
git checkout <hex40> -- src/nest.py
git cherry-pick <hex7>..<hex9>
index <hex7>..<hex7> 100644
Subproject commit <hex40>
uses: actions/checkout@<hex40> # v4
FROM python@sha256:<hex64>
docker pull nest@sha256:<hex64>
Digest: sha256:<hex64>
Status: Downloaded newer image for nest@sha256:<hex64>
request id <uuid>
session <uuid> ended after 3 turns
"id": "<uuid>",
traceparent: 00-<hex32>-<hex16>-01
x-request-id: <uuid>
user_id=<uuid>
deployment <uuid> of heroku finished in 12 s
https://dashboard.heroku.com/apps/nest/activity/builds/<uuid>
scope mem_<hex8> was forgotten, turn_<hex16> stays
"integrity": "sha512-<b64:86>=="
integrity sha1-<b64:27>=
      "resolved": "https://registry.example.com/nest/-/nest-1.2.0.tgz",~      "integrity": "sha512-<b64:86>==",
nest@^1.2.0:~  version "1.2.4"~  resolved "https://registry.example.com/nest-1.2.4.tgz#<hex40>"
checksum = "<hex64>"
    {file = "nest-1.0-py3-none-any.whl", hash = "sha256:<hex64>"},
nest==1.2.0 --hash=sha256:<hex64>
github.com/jay/nest v1.2.3 h1:<b64:43>=
sha256 "<hex64>"
md5sum: <hex32>  nest.tar.gz
<hex64>  nest-1.0.tar.gz
narHash = "sha256-<b64:43>=";
ETag: "<hex32>"
<script src="https://cdn.example.com/nest.js" integrity="sha384-<b64:64>" crossorigin="anonymous"></script>
<img src="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA<b64:200>">
background: url(data:image/svg+xml;base64,PHN2ZyB4bWxu<b64:120>);
src: url(data:font/woff2;base64,d09GMgABAAAA<b64:200>) format("woff2");
//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjoz<b64:100>
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI<b64:43> jay@nest
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ<b64:300> jay@nest
-----BEGIN PUBLIC KEY-----~<b64:64>~<b64:64>~-----END PUBLIC KEY-----
-----BEGIN CERTIFICATE-----~<b64:64>~<b64:64>~<b64:20>==~-----END CERTIFICATE-----
certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk<b64:200>=
client-certificate-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk<b64:200>=
SHA256:<b64:43> jay@nest (ED25519)
gpg: using RSA key <HEX40>
pub   rsa4096 2024-01-02 [SC]~      <HEX40>
PublicKey = <b64:43>=
"public_key": "<b64:44>"
age1<low58> is the recipient
NEXT_PUBLIC_API_URL=https://api.example.com/v<dig1>
password = os.environ["DB_PASSWORD"]
password = os.environ.get("DB_PASSWORD")
password = os.getenv("PASSWORD", "")
password: process.env.DB_PASSWORD,
const apiToken: string = process.env.API_TOKEN!;
const apiKey: string = config.get('apiKey');
const token = await getToken({ scope: 'read' });
const { token, secret } = useCredentials();
let token: &str = args.get(1).unwrap();
let api_key: String = env::var("API_KEY").expect("API_KEY is missing");
pub fn login(password: &str, token: &str) -> Result<Session, Error> {
apiKey := os.Getenv("API_KEY")
String password = System.getenv("DB_PASSWORD");
private final String password;
public string Password { get; set; }
def login(user: str, password: str, token: str | None = None) -> bool:
def check(password: str = "") -> bool:
password: str
api_key: SecretStr = Field(default=None, alias="API_KEY")
token = secrets.token_hex(32)
password = getpass("Password: ")
password = input("password? ")
secret = boto3.client("secretsmanager").get_secret_value(SecretId=name)["SecretString"]
password = st.text_input("Password", type="password")
secret_key = base64.b64decode(row["secret_key"])
token = jwt.encode({"sub": user.id}, settings.SECRET_KEY, algorithm="HS256")
headers = {"Authorization": f"Bearer {token}"}
headers: { Authorization: `Bearer ${accessToken}` }
-H "Authorization: Bearer $TOKEN"
-H "Authorization: Bearer <token>"
-H "Authorization: token ${{ github.token }}"
curl -u "$USER:$PASS" https://api.example.com
curl -u jay https://api.example.com
curl --user "${CI_USER}:${CI_PASSWORD}" https://api.example.com
curl -u <user>:<password> https://api.example.com
curl -s -o /dev/null https://api.example.com/v1/users
mysql -u root -p main < dump.sql
mysql -uroot -p"$MYSQL_PASSWORD" main
mysql -h db -P 3306 -p
mysqldump --print-defaults main
sshpass -p "$PASS" ssh jay@host
sshpass -e ssh jay@host
sshpass -f ~/.pass ssh jay@host
ssh -p 2222 jay@host
mkdir -p build/out<dig2>
docker run -p 8080:80 nest
docker login -u jay --password-stdin < token.txt
nmap -p 22,80,443 10.0.0.1
python -u main.py:app
tar -xzf a.tgz && cp -p a1 b2
psql -U jay -d main -h localhost
git clone https://github.com/jay/nest.git
git clone https://jay@bitbucket.org/jay/nest.git
git clone git@github.com:jay/nest.git
git clone https://${GITHUB_TOKEN}@github.com/jay/nest.git
git clone https://$TOKEN@github.com/jay/nest.git
git push https://<token>@github.com/jay/nest.git
https://user@example.com/path
https://medium.com/@jay/how-we-rotate-tokens-<hex12>
https://unpkg.com/nest@<dig1>.2.3/dist/nest.min.js
https://cdn.jsdelivr.net/npm/@jay/nest@1.<dig1>.0/index.js
see https://github.com/jay/nest/commit/<hex40>
https://github.com/jay/nest/blob/<hex40>/src/token.py#L12
https://example.com/docs/password-reset?step=2
https://example.com/search?q=api+key+rotation&page=2
https://www.youtube.com/watch?v=<url11>
https://docs.google.com/document/d/<url44>/edit
https://discord.gg/<an8>
https://discord.com/channels/<dig18>/<dig18>/<dig19>
https://discord.com/api/webhooks/{id}/{token}
https://sentry.io/organizations/nest/issues/<dig10>/
https://hooks.slack.com/services/YOUR/WEBHOOK/URL
https://www.notion.so/jay/Roadmap-<hex32>
https://linear.app/nest/issue/NEST-<dig3>/rotate-the-token
https://nest.atlassian.net/browse/NEST-<dig4>
https://replicate.com/p/<low26>
https://app.netlify.com/sites/nest/deploys/<hex24>
s3://nest-artifacts/builds/<hex40>/app.zip
arn:aws:iam::<dig12>:role/deploy-token-writer
arn:aws:secretsmanager:eu-west-1:<dig12>:secret:db-password-<an6>
projects/nest/secrets/db-password/versions/<dig2>
token_count = 512
max_tokens: 4096
n_tokens=<dig5>
tokens_per_second: 84.<dig3>
"max_completion_tokens": 2048,
"prompt_tokens": <dig4>, "completion_tokens": <dig3>, "total_tokens": <dig4>
token_type: bearer
token_type_ids=tensor([[0, 0, 0]])
pad_token_id=<dig5>
eos_token = "<|endoftext|>"
special_tokens_map.json has "cls_token": "[CLS]"
tokenizer = AutoTokenizer.from_pretrained("jay/nest-<dig1>b")
token_expiry: 3600
TOKEN_TTL_SECONDS=86400
password_min_length = 12
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
password_changed_at: 2026-01-0<dig1>T10:00:00Z
password_reset_timeout_days=3
forgot_password_url: /accounts/password/reset/
password_field = "#login-password-input"
page.fill("#password", password)
await page.locator('input[name="password"]').fill(password);
<input type="password" name="password" id="password" autocomplete="current-password">
<label for="password">Password:</label>
<Password>{{ .Values.db.password }}</Password>
<password>${env.NEXUS_PASSWORD}</password>
<password>changeit</password>
<string name="password_hint">At least 12 characters</string>
<xs:element name="password" type="xs:string"/>
<property name="passwordEncoder" ref="bcryptPasswordEncoder2"/>
<param name="token" type="String" value="" />
.password-input-v2 { color: #<hex6>; }
.token-list { background: #<hex6>; width: 12<dig1>px }
--color-secret: #<hex6>;
.sk-loading-<abc6>-spinner-wide-container-v2 { margin: 0 }
class="css-<low7> password-field-<dig1>"
--token-color-primary: rgb(12<dig1>, 8, 4);
color: var(--design-token-color-primary-<dig3>);
:root { --api-key-width: 12rem }
the password is stored hashed with argon2id
the password is wrong, the token has expired
the password is required
the password is never logged
the password is incorrect for user jay
the password is too short: at least 12 characters
the password is "required" in the form
what is the password policy of the staging database?
a password manager would be better than a file
the token is sent as a header in every request
the token is valid for 24 hours
the secret is mounted at /run/secrets/db
the secret is to write small commits
the api key is read from the environment
the api key is optional
its passphrase is asked for when the agent starts
rotate the password every 90 days
password for jay@host:
Enter passphrase for key '/home/jay/.ssh/id_ed25519':
[sudo] password for jay:
Permission denied (publickey,password).
password authentication failed for user "jay"
FATAL:  password authentication failed for user "nest_<dig2>"
Access denied for user 'root'@'localhost' (using password: YES)
error: secret "db-credentials-<low5>" not found
secret/db-credentials created
pod/nest-<hex10>-<low5> restarted
INFO token refreshed for client nest-<dig3> in 12ms
WARN invalid token at position <dig3>: unexpected '}'
SyntaxError: Unexpected token '<' at line <dig2>
unexpected token: T_STRING2 in nest.php on line 1<dig1>
SECRET_KEY is not set
ValueError: API key must not be empty (got None)
401 Unauthorized: invalid api key provided
Error: Incorrect API key provided: sk-pr***************************************abcd.
password: ********
password=xxxxxxxxxxxx
password: "<redacted>"
password: [FILTERED]
token: REDACTED
API_KEY=changeme
API_KEY=your-api-key-here
API_KEY=<your-api-key>
api_key: "{{ vault_api_key }}"
password: "{{ lookup('env', 'DB_PASSWORD') }}"
password: !vault |
password: ENC[AES256_GCM,data:...]
password: ${file(./secrets.yml):password}
password: !Ref DbPassword
password: !Sub '{{resolve:secretsmanager:${DbSecret}:SecretString:password}}'
ansible_password: "{{ vault_ansible_password }}"
ansible_become_method: sudo
password = var.db_password
password = random_password.db.result
password = data.aws_secretsmanager_secret_version.db.secret_string
variable "db_password" {~  type      = string~  sensitive = true~}
variable "token_count" { default = "512" }
variable "region" { default = "eu-west-<dig1>" }
secretKeyRef:~  name: db-credentials~  key: password
env:~  - name: DB_PASSWORD~    valueFrom:~      secretKeyRef:~        name: db
env:~  - name: TOKEN_URL~    value: https://auth.example.com/oauth/token
env:~  - name: LOG_LEVEL~    value: debug2
- name: SECRET_NAME~  value: db-credentials
imagePullSecrets:~  - name: regcred<dig2>
secretName: nest-tls-<dig2>
tokenSecretRef: nest-token-<low5>
serviceAccountName: token-reader-<dig1>
{"name": "password", "type": "string", "required": true}
{"name": "token", "in": "query", "schema": {"type": "string"}}
{"type": "object", "required": ["username", "password2"]}
{"auths": {}}
"auth": "oauth2-pkce-flow"
auth = ("jay", password)
auth: { type: "basic" }
"auth": {"mode": "public"}
authors = ["Jay <jay@example.com>"]
author: Jay Nest 1<dig3>
_author=jay2024nest
Cookie: theme=dark; lang=de
Set-Cookie: theme=dark; Path=/; Max-Age=31536000
Cookie: consent=accepted-v2
cookies are set with SameSite=Lax and HttpOnly
res.cookie('session', token, { httpOnly: true, maxAge: 3600000 })
cookie_secret = os.environ["COOKIE_SECRET"]
cookie = request.cookies.get("sessionid")
define('DB_NAME', 'nest_<dig2>');
define('DB_PASSWORD', getenv('DB_PASSWORD'));
define('PASSWORD_BCRYPT_COST', 12);
define('DB_PASSWORD', 'password_here');
'password' => Hash::make($request->password),
'password' => env('DB_PASSWORD'),
'password' => 'required|string|min:8',
'api_token' => ['required', 'string', 'size:40'],
t.string "password_digest", null: false
add_column :users, :reset_token_digest, :string
password_digest = BCrypt::Password.create(params[:password])
ALTER TABLE users ADD COLUMN password_hash_v2 text;
CREATE USER jay WITH PASSWORD :'pw';
SELECT password FROM users WHERE id = <dig3>
IDENTIFIED BY PASSWORD_PLACEHOLDER
INSERT INTO tokens (id, name) VALUES (<dig3>, 'nest');
test_password_is_hashed_with_argon2
test_token_of_16_characters_is_refused
def test_a_secret_of_32_bytes_is_kept(self):
it("refuses a token2 that has expired", () => {
describe('PasswordReset2Form', () => {
expect(screen.getByLabelText('password')).toBeInTheDocument();
assert token == expected_token_2
if (password !== confirmPassword2) {
if token.kind == TokenKind.Identifier2:
password === repeatedPassword1
return token.type === 'IDENT2'
switch (token) { case Token.LBRACE2: break; }
token: Token2 | undefined
token: Token = this.lexer.next2()
type Secret = { name: string; value: string };
interface Props { token: string; onTokenChange2: (t: string) => void }
export const selectToken = (s: State2) => s.auth.token;
import { tokenize2 } from './tokens/v2';
from scrubjay.text.tokens import count_tokens2
passwordStrength = zxcvbn4(password).score
key={`row-${index2}`}
key = "nest/builds/latest-2026"
"key": "ctrl+shift+p2"
primary_key=True, index=True
foreign_key: nest_id_2
key_size = 4096
KeyError: 'user_<dig2>'
partition_key: tenant_<dig3>
cache_key = f"user:{user_id2}:profile"
cache key nest-deps-linux-<hex64> restored
Cache restored from key: node-modules-Linux-<hex64>
sort_key = lambda r: r.created_at2
public_key_path = "~/.ssh/id_ed25519.pub"
private_key_path: /etc/ssl/private/nest2.key
key_file = "server-2026.key"
ssh_key_name = "deploy-2026"
kms_key_id = "arn:aws:kms:eu-west-1:<dig12>:key/<uuid>"
key vault nest-kv-<low6> in westeurope
license = "MIT2"
pass_rate: 0.98<dig2>
passed=1<dig2> failed=0
12<dig1> passed, 3 skipped in 4.5<dig1>s
passes = "two2"
bypass=cache2
compass: north12
by-pass-through = mode2
pwd: /home/jay/src/nest2
PWD=/srv/nest/releases/2026<dig4>
OLDPWD=/srv/nest2
cd "$(pwd)"/build2
passenger_count: 12<dig2>
pytest -p no:cacheprovider -n2
pytest -k "password and not token2"
pip install keyring2 tokenizers==0.2<dig1>.0
npm i jsonwebtoken@9.0.<dig1> bcrypt@5.1.0
token-bucket rate limiter: 100 req/s
a csrf token per form; the secret sauce is caching
design tokens v2: spacing-<dig2>, radius-8
token ring 16Mbit networks of 1989
secret santa 2026: draw on the 1st
"secret": true, "masked": true
secrets: inherit
secrets:~  db_password:~    file: ./db_password.txt
secret_name = "nest/prod/db2"
SECRET_FILE=/run/secrets/nest2
POSTGRES_PASSWORD_FILE=/run/secrets/db2
TOKEN_FILE: ~/.config/nest/token2
TOKEN_URL=https://auth.example.com/oauth2/token
tokenEndpoint: https://login.example.com/<uuid>/oauth2/v2.0/token
client_id=<uuid>
clientId: '<an20>',
tenant_id = "<uuid>"
"private": true, "version": "1.<dig1>.0"
AccountSid: AC<hex32>
subscription <uuid> is in westeurope
"kid": "<hex40>"
"private_key_id": "<hex40>"
"nonce": "<hex24>"
"jti": "<uuid>"
csp nonce-<b64:22>==
build <hex12> of branch token-rotation-2
v8 snapshot_blob_<hex8>.bin
chunk-<an8>.js 12.<dig1> kB
/assets/index-<url8>.js
main.<hex20>.css
__webpack_require__.h = () => "<hex20>"
0x<hex64> is the transaction hash
0x<hex40> is the contract
tx hash: 0x<hex64>
bc1q<low38> got the payment
address 0x<hex16> in frame 3
block-<hex32>
IPv6 2001:db8:<hex4>:<hex4>::1/64
mac <hex2>:<hex2>:<hex2>:<hex2>:<hex2>:<hex2>
2026-01-02T10:00:00.<dig6>Z INFO [nest-<dig1>] password reset mail sent to user <dig5>
10.0.0.<dig1> - - [02/Jan/2026:10:00:00 +0000] "POST /oauth/token HTTP/1.1" 200 <dig3>
"GET /password/reset/done?page2 HTTP/1.1" 302 0
localhost:5432:main is the address in the log
db.example.com:5432:main:jay is how pgpass lines begin
12:30:45:678 nest started
a:b:c:d:e
src/nest.py:12:4:E501:line-too-long
nest.c:12:34: error: expected token2 before ';'
machine learning login page password field
machine api.example.com has 2 cores
machine: ubuntu-2404
default: token2
netrc holds machine, login and password of a host
root:x:0:0:root:/root:/bin/bash
jay:x:1000:1000:Jay,,,:/home/jay:/bin/zsh2
jay:*:19000:0:99999:7:::
jay@example.com:/srv/nest2
$1 and $2 are the arguments; $6.50 is the price
costs $2y a year
sudo apt install libsecret-1-dev libpam-pwquality2
xai-sdk-python and pplx-embed-v1 are packages
the sbp_driver_v2 module, the glsa_template_name_v2 file
lin_api_client.py and ntn_parser_test2.py
re_match_all_groups_v2 = re.compile(r"\d+")
fc-cache -fv; fc-list; fc-match monospace12
sk-toggleable__content fitted2
figd_parser_config_options_for_version_2
hf_transfer, hf_hub_download, hf_model_config_v2_base
pat-answer-key-2026, dp.pt is the checkpoint file best.pt.2
key-value-store-of-the-second-edition-2026
npm_config_registry_with_a_long_name_and_more2
api-gateway-v2-production-eu-west-1.example.com
pa-rallel, sl.no, A3-format, EAA-2024 and hvs.py
glc_total_cells_count2
eyJhbGciOi is how a JWT begins
SELECT 'MTk4.Gxyz.abc' AS dotted2
com.example.nest.PasswordEncoderFactories2.createDelegating
AAAA records: 2001:db8::<hex4>
LTAI is Alibaba's prefix, AKIA that of AWS, NRAK of New Relic
SKU-<dig8> is out of stock
SK<dig4> flies to Oslo
cioppino recipe for 12 people
the AC1200 router, MTU 1500, OD 12.5mm
Lorem ipsum dolor sit amet 2026, consectetur adipiscing elit
password123 is the worst password of all, says every list
people still choose "password" and "qwerty" as passwords
he said: pass the salt2, please
I forgot my password again, can you reset it?
we keep tokens in the keychain and passwords nowhere
Tokens: 12,<dig3> in, <dig3> out
Usage: nest login [--token TOKEN2] [--password PASSWORD2]
nest login --token <TOKEN> --password <PASSWORD>
nest login --password-file ./pw2.txt
--token-limit 4096 --secret-name nest2
  -p, --password PASSWORD2   the password to use
  --api-key TEXT2            your key
api_key (str): The key for v2 of the API.
:param password: the password2 of the user
@param token the token2 that was read
token -- a string of 32 characters
# password: see the vault, entry nest2
// TODO(jay): remove the token2 argument
assert redact("password=" + PASSWORD2)
password = "".join(random.choices(string.ascii_letters, k=16))
PASSWORD = f"{prefix}{suffix2}"
password: faker.internet.password({ length: 20 })
password = crypt.hashpw(raw2, crypt.gensalt())
const hash = await bcrypt.hash(password, 10);
secret: crypto.randomBytes(32).toString('hex'),
apiKey: import.meta.env.VITE_API_KEY2,
apiKey={process.env.NEXT_PUBLIC_KEY2}
token={session?.accessToken2}
token={token2} onChange={setToken2}
credentials: 'same-origin2'
credentials: "include"
credentials = Credentials2.from_file(path)
credentials = service_account.Credentials.from_service_account_file("sa2.json")
withCredentials([string(credentialsId: 'npm-token-2', variable: 'TOKEN')]) {
secret = Secret(name="nest2")
secret_id = aws_secretsmanager_secret.db2.id
token_id: "<uuid>"
key_id: <up20>
access_key_id_env: AWS_ACCESS_KEY_ID2
permissions:~  id-token: write~  contents: read
GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}
NODE_AUTH_TOKEN: ${{secrets.NPM_TOKEN2}}
password: $(DB_PASSWORD2)
password: %DB_PASSWORD2%
password: @@DB_PASSWORD2@@
password: __DB_PASSWORD2__
password: #{DB_PASSWORD2}
password: op://vault2/db/password
DB_PASSWORD=vault:secret/data/db2#password
TOKEN=$(cat ~/.token2)
TOKEN=`cat ~/.token2`
TOKEN="$(gh auth token)"
export PASSWORD=$(pass show nest2/db)
read -s -p "Password: " PASSWORD2
read -rsp 'Token2: ' TOKEN
echo "$TOKEN2" | docker login --password-stdin
echo hello2 | sudo tee /etc/nest
password => the word that is asked for at log-in
| password | the password of the user |
| token | string | a token2 of the session |
| Password | Required | Min 12 |
"""


# Written after the rules, which have never been changed for them.
FRESH_SECRETS = r"""
my github token expired: ghp_«<an36>»
TWILIO_API_SECRET=«<an32>»
twilio_auth_token: "«<hex32>»"
DISCORD_TOKEN=MTA«<an21>.G<url5>.<url38>»
fetch("https://discord.com/api/v10/webhooks/1<dig17>/«<url68>»")
MAILGUN_API_KEY=«<hex32>-<hex8>-<hex8>»
mailgun: { apiKey: 'key-«<hex32>»' }
HEROKU_API_TOKEN: HRKU-«<uuid>»
curl -H "Authorization: Bearer glsa_«<an32>_<hex8>»" grafana.example.com
linear: { "apiKey": "lin_api_«<an40>»" }
export NOTION_TOKEN=ntn_«<dig11><an35>»
curl -u jay@example.com:ATATT3xFf«<url170>=<HEX8>» https://nest.atlassian.net
[auth]~token=sntrys_«eyJpYXQiOjE3<an90>=_<url43>»
replicate = Client(api_token="r8_«<an37>»")
SUPABASE_ACCESS_TOKEN: sbp_«<hex40>»
SUPABASE_SERVICE_ROLE_KEY=eyJhbGciOiJIUzI1NiJ9.«eyJ<an80>.<url43>»
xai = OpenAI(base_url="https://api.x.ai/v1", api_key="xai-«<an80>»")
Bearer pplx-«<an48>»
newrelic.license_key=«<hex36>NRAL»
the user key NRAK-«<up27>» was revoked
apiVersion: v1~kind: Secret~data:~  DB_PASSWORD: «<b64:20>»==
containers:~- env:~  - {name: "JWT_SECRET", value: "«<an40>»"}
environment:~  - name: SMTP_PASSWORD~    value: '«<pass>»'
PuTTY-User-Key-File-2: ssh-rsa~Encryption: none~Private-Lines: 2~«<b64:64>~<b64:40>»~Private-MAC: <hex40>
client-key-data: "«LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk<b64:200>»"
"registry.gitlab.com": {~  "auth": "«<b64:48>»"~}
url = https://«<an40>»@github.com/jay/nest.git
go get https://«<low32>»@git.example.com/nest
machine github.com~login jay~password ghp_«<an36>»
postgres.example.com:5432:app:app_user:«<pw2>»
curl --user jay:'«<pass>»' https://example.com
curl -sS -u 'deploy:«<pass>»' -T a.zip https://repo.example.com/
mysql --host=db --user=jay --password='«<pass>»' main
mysql -ujay -p«<pass>» -h127.0.0.1 main
mariadb -u root -p«<pass>» -e 'show tables'
sshpass -p "«<pass>»" rsync -a a/ jay@host:b/
<Password>«<pass>»</Password>
<entry key="db.password">«<pass>»</entry>
<apiToken>«<an40>»</apiToken>
define("SECRET_KEY", "«<an40>»");
the root password is now «<pass>»
Password is «<pass>»
the database password used to be «<pass>»
his password: «<pass>»!
new password = «<pass>»
the wifi passphrase is "«<pw>»"
password -> «<pass>»
token is: «<an32>»
The API token you need is «<an40>»
I changed the password to «<pass>»
reset the admin password to «<pass>» please
Cookie: _session_id=«<hex32>»
cookie: csrftoken=«<an32>»; sessionid=«<low32>»
curl --cookie "auth=«<an40>»" https://example.com
document.cookie = "session=«<an40>»"
requests.get(url, cookies={"sessionid": "«<low32>»"})
variable "redis_auth_token" {~  description = "token"~  default     = "«<an32>»"~}
locals {~  db_password = "«<pass>»"~}
token = "«<an14>.atlasv1.<url67>»"
deploy:$apr1$«<an8>$<an22>»
ftp:$2a$10$«<an53>»
ansible_password='«<pass>»'
vault_db_password: "«<pass>»"
_auth="«<b64:36>»"
always-auth=true~_password=«<b64:24>»=
const dbPassword: string = "«<pass>»";
export const SECRET_KEY: string = `«<an40>»`;
const AUTH_TOKEN: &'static str = "«<an40>»";
pub const API_TOKEN: &str = "«<hex40>»";
private string apiKey = "«<an32>»";
final String apiSecret = "«<an32>»";
static const char* kApiKey = "«<an32>»";
auth_token: Optional[str] = "«<an40>»"
self.password = "«<pass>»"
config["api_key"] = "«<an32>»"
client = Anthropic(api_key="sk-ant-api03-«<url93>AA»")
openai.api_key = 'sk-proj-«<url74>»'
--api-key=«<an32>»
--token «<an40>»
nest login --password «<pass>»
login -u jay -p «<pass>» after docker
docker login ghcr.io -u jay -p ghp_«<an36>»
AZURE_CLIENT_SECRET=«<an3>8Q<tilde><url34>»
STRIPE_SECRET_KEY=sk_live_51«<an97>»
"stripe_webhook_secret": "whsec_«<an32>»"
FIREBASE_TOKEN=1//0«<url100>»
SLACK_BOT_TOKEN=xoxb-«<dig12>-<dig12>-<an24>»
SENDGRID_API_KEY='SG.«<url22>.<url43>»'
redis://default:«<pass>»@redis.example.com:6379
mongodb://root:«<pw2>»@db/admin?authSource=admin
server=db;uid=sa;pwd=«<pass>»;database=main
hibernate.connection.password «<pass>»
LDAP_BIND_PASSWORD: '«<pass>»'
"Password": "«<pass>»",
passwd=«<pass>»
DB_PASS: «<pass>»
ssh_password = '«<pass>»'
APP_KEY=base64:«<b64:43>»=
SESSION_SECRET=«<an32>»
secret_token='«<hex64>»'
HMAC_KEY=«<hex64>»
X-API-KEY: «<an32>»
"""

FRESH_HARMLESS = r"""
git show <hex40>:src/auth.py
Revert "Rotate the token", this reverts commit <hex40>.
HEAD is now at <hex7> Keep the password out of the log
+++ b/tests/test_password2.py
@@ -12,7 +12,9 @@ def token(self):
"sha": "<hex40>", "node_id": "<an12>"
"@types/node@^20.1.0":~  version "20.1.<dig1>"~  integrity sha512-<b64:86>==
name = "secrecy"~version = "0.8.0"~checksum = "<hex64>"
nest-1.2.0.tar.gz:sha256:<hex64>
image: nest/api@sha256:<hex64>
"digest": "sha256:<hex64>"
conversation <uuid> has 12 turns about tokens
Trace: <hex32> span: <hex16>
data:image/jpeg;base64,/9j/4AAQSkZJRgABAQ<b64:200>
data:image/gif;base64,R0lGODlhAQABAIAA<b64:60>
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC<b64:300>= deploy
ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTY<b64:80>= jay
-----BEGIN PGP PUBLIC KEY BLOCK-----~~<b64:64>~<b64:64>~=<an4>~-----END PGP PUBLIC KEY BLOCK-----
The key fingerprint is: SHA256:<b64:43> jay@nest
Warning: Permanently added 'github.com' (ED25519) to the list of known hosts.
token = request.headers.get("X-Token2")
password = config["db"]["password"]
password = form.cleaned_data["password1"]
password = settings.DATABASES["default"]["PASSWORD"]
apiKey: config.apiKeys.v2.primary,
api_key=api_key_from_env_2,
token=self._token2, timeout=30
secret = yaml.safe_load(open("secret2.yml"))
let password = prompt("New password:");
const password = req.body.password2;
var token = JSON.parse(localStorage.getItem("token2"));
String token = request.getHeader("Authorization").substring(7);
func Login(user, password string) (token string, err error) {
fn verify(token: &str, key: &DecodingKey2) -> bool {
password: { type: String, required: true, minlength: 8 },
password: z.string().min(8).max(64),
token: z.string().uuid().optional(),
t.Errorf("token = %q, want %q", token, want2)
assert_eq!(token.kind, TokenKind::Ident2);
password: "string", token: "string2"
password: "<your password>"
"password": "{{password2}}"
"token": "${TOKEN2}"
API_KEY=xxxxxxxx
API_KEY="REPLACE_ME"
SECRET_KEY=<generate one with openssl rand -hex 32>
DB_PASSWORD=
TOKEN: ""
password: null
secret: true
auth: true
auth: none
auth: required2
auth_mode: scram-sha-256
auth_type = "oauth2_client_credentials"
authentication_timeout = 1min
token_url = "https://login.example.com/v2.0/token"
key = "terraform/state/prod-2026.tfstate"
key: "user:1234:profile"
key=lambda item: item[1]
"key": "F12", "command": "workbench.action.debug.start"
key={item.id2}
KEY `index_users_on_email_2` (`email`)
UNIQUE KEY uk_token_2 (token)
hash key: customer_id_2026
api key rotation happens every 30 days
the api key for v2 is the same as for v1
our token budget is 8192, of which 512 are kept
the token count of 12345 exceeds the maximum of 8192
the token limit is 200000
a password of 12 characters takes 3 years to guess
password length is 16
password policy: min12chars, one digit
a password like correct-horse-battery-staple is long enough
the password is base64-encoded, then sent
the password was changed on 2026-01-02
password reset for user 12345 was sent to jay2@example.com
the secret is 32 bytes of random data
the secret to it is test2code
set the password to anything you like
set token to None before the 2nd call
passwords must match, tokens must not
pass the token to get_user_by_id2
pass: 12, fail: 3, skip: 1
all 128 tests pass: see build 20260102
pass=true fail=false
cookie: { secure: true, maxAge: 60000 }
cookies = http.cookiejar.MozillaCookieJar("cookies2.txt")
Set-Cookie: lang=en-GB; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Path=/
Cookie: cookie_consent=1; theme=solarized-dark-2
curl -b cookies.txt -c cookies.txt https://example.com/login2
curl -u jay2 https://api.example.com
curl -X POST -d @body.json https://api.example.com/v2/token
mysql -P 3307 -h db2 -u jay main
mysqldump --single-transaction --skip-lock-tables main2
docker login registry.example.com
docker run -p 127.0.0.1:5432:5432 -e POSTGRES_PASSWORD_FILE=/run/secrets/pw2 postgres
ssh -p 2222 -i ~/.ssh/id_ed25519_2 jay@host
unzip -P is not given for nest2.zip
openssl rand -hex 32
openssl x509 -in a2.pem -noout -text
openssl req -x509 -newkey rsa:4096 -keyout key2.pem -out cert2.pem
redis-cli -h cache2 -p 6380 ping
echo "$PASS2" | sudo -S true
echo done2 | mail -s report jay@example.com
echo hello2 | base64
https://jay2@dev.azure.com/nest/_git/nest
https://github.com/jay/nest/pull/123#issuecomment-<dig10>
https://example.com/login?next=%2Faccount2&theme=dark
https://maps.example.com/?q=52.52,13.40&z=12
npm notice shasum: <hex40>
npm notice integrity: sha512-<b64:12>[...]<b64:12>==
Successfully built <hex12>
pod "api-<hex10>-<low5>" deleted
secret "nest-tls" created, 3 keys, 2m ago
level=info msg="token refreshed" user=jay2 ttl=3600
[2026-01-02 10:00:00] auth.INFO: login jay2 {"ip":"10.0.0.2"}
WARN: password for user2 expires in 5 days
Invalid credentials: user jay2 / attempt 3
credentials: see 1password2
--secret-color: #a1b2c3;
.password__toggle--v2 { right: 12px }
#token-input-2:focus { outline: 2px solid }
<PasswordInput value={password2} onChange={setPassword2} />
<input name="token" value="" type="hidden2">
<input type="hidden" name="csrf" value="">
<key>CFBundleVersion</key><string>1.2.3</string>
<string name="api_key_label">API key v2</string>
<password encrypted="true">${db.password2}</password>
define('AUTH_COOKIE', 'wordpress_logged_in_2');
define('TOKEN_TTL', 3600);
| token | 12345 |
| password | varchar(255) | NOT NULL |
| api_key | string2 | your key |
def test_password_2_of_user_1(): pass
test_token[128-sha256-utf8]
tests/test_tokens.py::test_secret_is_gone[case-12] PASSED
tokens: list[Token2] = []
token_embedding: [<dig3>, <dig3>]
AKIA... and ghp_... are prefixes
use ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx as a placeholder
sk-... is how OpenAI's keys begin, sk-ant-... Anthropic's
"""


def _drawn(alphabet: str, length: int, rng: random.Random) -> str:
    """A random text that holds a digit and a letter wherever the alphabet and length allow both."""
    while True:
        text = "".join(rng.choice(alphabet) for _ in range(length))
        if length < 6 or (len(set(text)) > 3 and (alphabet.isalpha() or re.search(r"\d", text))):
            return text


def _value(spec: str, rng: random.Random) -> str:
    if spec == "uuid":
        return "-".join(_drawn(ALPHABETS["hex"], n, rng) for n in (8, 4, 4, 4, 12))
    if spec == "tilde":
        return "~"
    word, other = rng.sample(WORDS, 2)
    if spec == "pass":
        return rng.choice([word + _drawn(string.digits, 4, rng), _drawn(ALPHABETS["an"], 12, rng)])
    if spec == "pw2":
        return f"{word.title()}!{_drawn(string.digits, 3, rng)}"
    if spec == "pw":
        return rng.choice(
            [
                f"{word.title()}!{_drawn(string.digits, 3, rng)}",
                f"{word}-{other}-{_drawn(string.digits, 2, rng)}#",
                f"{_drawn(ALPHABETS['an'], 6, rng)}${_drawn(ALPHABETS['an'], 5, rng)}",
                f"{word}&{other.upper()}{_drawn(string.digits, 1, rng)}",
            ]
        )
    kind, length = re.fullmatch(r"([A-Za-z]+(?:64:)?)(\d+)", spec).groups()  # type: ignore[union-attr]
    return _drawn(ALPHABETS[kind], int(length), rng)


_SPEC = re.compile(r"<((?:an|hex|HEX|up|low|dig|url|b64:|abc)\d+|uuid|tilde|pass|pw2?)>")


def sample(shape: str, half: str = "") -> Sample:
    digest = sha256(shape.encode()).digest()
    rng = random.Random(digest)
    text = _SPEC.sub(lambda match: _value(match[1], rng), shape.replace("~", "\n"))
    secrets = re.findall("«(.*?)»", text, re.DOTALL)
    return Sample(
        shape, text.replace("«", "").replace("»", ""), secrets, half or ("dev" if digest[0] % 2 else "test")
    )


def samples(shapes: str, half: str = "") -> list[Sample]:
    return [sample(shape, half) for shape in shapes.split("\n") if shape]


SECRETS = samples(TOKENS + PLACES) + samples(FRESH_SECRETS, "fresh")
LOOK_ALIKES = samples(HARMLESS) + samples(FRESH_HARMLESS, "fresh")


def kept(secret: str, clean: str) -> bool:
    """Whether a part of a secret that is of use still stands in a text: twelve characters of it, or all of a short one."""
    length = min(12, len(secret))
    return any(secret[at : at + length] in clean for at in range(len(secret) - length + 1))
