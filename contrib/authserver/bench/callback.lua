-- wrk: token callbacks for a thousand users in turn, each for a new token.
local pool = os.getenv("BENCH_POOL")
local token = os.getenv("BENCH_TOKEN")
local forced = os.getenv("BENCH_FORCED") == "yes"
local number = 0

function request()
  number = (number + 7) % 1000
  local headers = {
    ["Content-Type"] = "application/json",
    ["Authorization"] = "Bearer " .. token,
  }
  if forced then headers["Cache-Control"] = "no-cache" end
  local body = '{"IdentityPoolId":"' .. pool .. '","DeveloperProviderName":"login.example.app",'
    .. '"DeveloperUserIdentifier":"user' .. number .. '"}'
  return wrk.format("POST", "/v1/token", headers, body)
end

function done(summary, latency, requests)
  io.write(string.format("BENCH %d %d %d %d %d\n", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99),
    summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout))
end
