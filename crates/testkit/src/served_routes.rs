//! Routes in this process and the principal that calls them, without a network.

use std::{convert::Infallible, sync::Arc};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, response::Parts},
    response::Response,
};
use harn_model::Principal;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;

use crate::must;

/// Routes with the principal of their requests.
#[derive(Clone)]
pub(crate) struct ServedRoutes {
    router: Router,
    principal: Option<Principal>,
}

impl ServedRoutes {
    pub(crate) fn new(router: Router) -> Self {
        Self {
            router,
            principal: Some(Principal::owner()),
        }
    }

    /// Returns the same routes for another principal, or for none.
    pub(crate) fn for_principal(&self, principal: Option<&str>) -> Self {
        Self {
            router: self.router.clone(),
            principal: principal.map(|name| Principal::new(Arc::from(name))),
        }
    }

    pub(crate) fn call(
        &self,
        mut request: Request<Body>,
    ) -> impl Future<Output = Result<Response, Infallible>> + use<> {
        if let Some(principal) = &self.principal {
            request.extensions_mut().insert(principal.clone());
        }
        TowerToHyperService::new(self.router.clone()).call(request)
    }

    /// Returns the head of an answer and its whole body.
    pub(crate) async fn answer(&self, request: Request<Body>) -> (Parts, Vec<u8>) {
        let Ok(response) = self.call(request).await;
        let (parts, body) = response.into_parts();
        let bytes = must(to_bytes(body, usize::MAX).await, "the body ends early");
        (parts, bytes.to_vec())
    }
}
